// The gateway as a whole: a store, one worker per core, and how they start, reload and stop. Other listeners can be
// opened beside it, on the thread of its first worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "config/config.h"
#include "gateway/ask_probe.h"
#include "gateway/bookkeeper.h"
#include "gateway/dispatcher.h"
#include "gateway/plan.h"
#include "gateway/quotas.h"
#include "gateway/rate_limiter.h"
#include "gateway/reminders.h"
#include "gateway/scribe.h"
#include "gateway/services.h"
#include "gateway/worker.h"
#include "http/inherited.h"
#include "http/listener.h"
#include "http/session.h"
#include "store/capable_store.h"
#include "telemetry/certificates.h"
#include "telemetry/metrics.h"
#include "telemetry/request_log.h"
#include "telemetry/tail.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/result.h>

namespace semel::gateway {

class Gateway {
 public:
  // Takes its address; nothing is answered before start(). `seed` must differ from process to process.
  // Code::unavailable: the address cannot be used. Code::invalid: the file of a certificate cannot be used.
  static Result<std::unique_ptr<Gateway>> open(const std::shared_ptr<const config::Config>& config,
                                               store::CapableStore store, Clock& clock, telemetry::LogSink& log,
                                               std::uint64_t seed,
                                               std::shared_ptr<const telemetry::StoreMetrics> store_metrics = nullptr,
                                               http::Inherited inherited = {});
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // 0 if there is no route and no webhook: then only neighbours listen.
  [[nodiscard]] std::uint16_t port() const { return door_.port; }
  [[nodiscard]] telemetry::Metrics& metrics() { return metrics_; }
  [[nodiscard]] const telemetry::Certificates& certificates() const { return witness_.certificates; }
  [[nodiscard]] telemetry::Tail& tail() { return witness_.tail; }
  // Tallies and findings.
  [[nodiscard]] Bookkeeper& books() { return books_; }
  [[nodiscard]] bool draining() const { return door_.gate.draining; }
  [[nodiscard]] Dispatcher* dispatcher() { return dispatcher_.get(); }
  // The plan of the first worker. Once started, to be asked on its thread only.
  [[nodiscard]] std::shared_ptr<const Plan> plan() const { return workers_.front()->plan(); }

  // Answers requests to the address of the claims API on the thread of every worker, with handlers that `make` makes.
  // To be called before start().
  Result<std::uint16_t> listen_for_api(const reading::Endpoint& endpoint, const MakeHandler& make);

  // Answers requests to another address with `handler`, on the thread of the first worker, from start() until drain().
  // To be called before start(). Returns the port. Code::unavailable: the address cannot be used.
  Result<std::uint16_t> listen_beside(const reading::Endpoint& endpoint, std::unique_ptr<http::RequestHandler> handler);
  void start();

  // Requests that are under way keep the configuration they started with. Listeners, threads, store and limits stay as
  // they were at the start; certificates are read again. Code::invalid: one of their files cannot be used, and nothing
  // has changed.
  Result<void> reload(const std::shared_ptr<const config::Config>& config);
  // An operator has changed the key, which is named as the layers above or as the store name it. When this returns, no
  // thread remembers it. Other gateways on the store forget it when they hear of it (store/remote_changes.h), and after
  // ReplayCache::trusted_for in any case.
  Task<void> forget(Key key);
  // What an upstream says now, for a resolver. May be called on any thread, from start() on.
  Task<Result<Outcome>> ask_target(ProbeTarget asked);
  // Notes for resolvers that were not written.
  [[nodiscard]] std::uint64_t reminders_lost() const {
    return writers_.reminders == nullptr ? 0 : writers_.reminders->lost();
  }
  // No new connections; requests under way are finished.
  void drain();
  // At once. Keys that are running then stay so until their lease lapses.
  void stop();
  // Until every thread has ended.
  void wait();
  [[nodiscard]] bool ended() const;

 private:
  // Where clients come in.
  struct Door {
    http::Inherited inherited;  // sockets that a listener uses instead of opening one
    http::Gate gate;
    std::uint16_t port = 0;
  };

  // How much clients and senders may ask for.
  struct Allowances {
    Quotas quotas;
    RateLimiters limiters;
  };

  // What writes to the history of the store; null if it keeps none.
  struct Writers {
    std::unique_ptr<Scribe> scribe;
    std::unique_ptr<Reminders> reminders;
  };

  // A listener beside the gateway's own, and what its connections use.
  struct Beside {
    http::Gate gate;
    std::unique_ptr<http::RequestHandler> handler;
    std::unique_ptr<http::Listener> listener;
  };

  Gateway(store::CapableStore store, telemetry::LogSink& log,
          std::shared_ptr<const telemetry::StoreMetrics> store_metrics, Clock& clock, std::uint64_t seed,
          std::size_t waiters_max);
  // Lets each worker `listen` at one address.
  template <class Listen>
  Result<std::uint16_t> listen_on_all(reading::Endpoint endpoint, Listen listen);
  Task<void> sweep();

  Door door_;
  telemetry::Metrics metrics_;
  Witness witness_;
  Allowances allowances_;
  Companies companies_;
  Once once_;                                     // outlives the calls that the workers drop when they end
  std::vector<std::unique_ptr<Beside>> beside_;   // outlive the connections that the workers drop when they end
  std::vector<std::unique_ptr<Worker>> workers_;  // outlive the store: calls that it ends are posted to them
  Writers writers_;                               // the same
  Bookkeeper books_;                              // the same
  store::CapableStore store_;
  std::unique_ptr<Dispatcher> dispatcher_;  // null if the store has no inbox
};

}  // namespace semel::gateway
