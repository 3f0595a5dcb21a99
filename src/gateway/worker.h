// One thread of the gateway: its event loop, its listener, its connections to the upstreams.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include <boost/asio/io_context.hpp>

#include "config/config.h"
#include "gateway/bookkeeper.h"
#include "gateway/dispatcher.h"
#include "gateway/inquiries.h"
#include "gateway/plan.h"
#include "gateway/quotas.h"
#include "gateway/rate_limiter.h"
#include "gateway/reminders.h"
#include "gateway/replay_cache.h"
#include "gateway/services.h"
#include "gateway/tls_set.h"
#include "http/inherited.h"
#include "http/listener.h"
#include "http/session.h"
#include "http/ticker.h"
#include "http/transaction.h"
#include "store/glance.h"
#include "store/lookup.h"
#include "telemetry/metrics.h"
#include "telemetry/notebook.h"
#include "telemetry/request_log.h"
#include "telemetry/sighting.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/result.h>

namespace semel::gateway {

// What all threads share.
struct Shared {
  Clock& clock;
  Once& once;
  telemetry::Metrics& metrics;
  Witness& witness;
  telemetry::LogSink& log;
  Bookkeeper& books;
  http::Gate& gate;
  Quotas& quotas;
  RateLimiters& limiters;
  Companies& companies;
  store::Glance* glance;  // the store's, if it has one
  const http::Inherited& inherited;
  Dispatcher* dispatcher;  // null if there is no inbox
  store::Lookup* lookup;   // null if the store cannot
  Reminders* reminders;    // null if the store has no history
};

// What a handler beside the gateway's own is made from, for the thread of one worker. All of it outlives the handler.
struct Neighbours {
  Once& once;
  Clock& clock;
  telemetry::Metrics& metrics;
  telemetry::RequestLog& log;
  std::function<std::shared_ptr<const config::Config>()> config;  // the one in force
  std::function<telemetry::SightingBuffer*()> sighted;            // null if nobody takes the sightings of this thread
};
using MakeHandler = std::function<std::unique_ptr<http::RequestHandler>(const Neighbours&)>;

class Worker : public http::RequestHandler {
 public:
  Worker(const Shared& shared, std::shared_ptr<const config::Config> config, const TlsSet& tls);
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Takes the address, and gives back one that it took before. Code::unavailable: it cannot be had. A worker that has
  // none serves only what is beside it.
  Result<std::uint16_t> listen(const reading::Endpoint& endpoint, http::Sharing sharing, const TlsSet& tls);
  // The same for the claims API, whose requests are answered by what `make` makes, once.
  Result<std::uint16_t> listen_for_api(const reading::Endpoint& endpoint, http::Sharing sharing, const TlsSet& tls,
                                       const MakeHandler& make);
  // To be called before start(), by the one that takes the sightings of this thread from now on.
  telemetry::SightingBuffer& keep_sightings();
  void start();

  // May be called from any thread.
  void reload(std::shared_ptr<const config::Config> config, TlsSet tls);
  void forget(const Digest* id);  // what an operator has changed; null if nobody can say
  void drain();
  void stop();
  void join();
  [[nodiscard]] bool ended() const { return ended_; }

  // To be run on this thread: the same, done when it returns.
  Task<void> forgotten(const Digest* id);

  [[nodiscard]] Executor executor() { return context_.get_executor(); }
  [[nodiscard]] http::Ticker& ticker() { return ticker_; }
  [[nodiscard]] const std::shared_ptr<const Plan>& plan() const { return plan_; }

  Task<void> handle(http::Transaction& transaction) override;
  void refused(std::uint16_t status) override;
  void handshake_failed() override;
  void turned_away() override;

 private:
  [[nodiscard]] std::shared_ptr<const Plan> plan_for(std::shared_ptr<const config::Config> config, const TlsSet& tls);
  Task<void> keep_house();

  // Null where there is none.
  struct Listeners {
    std::unique_ptr<http::Listener> clients;
    std::unique_ptr<http::Listener> api;
  };
  // What requests leave behind.
  struct Traces {
    telemetry::RequestLog log;
    telemetry::Notebook notebook{};
    telemetry::SightingBuffer sightings{};
    bool sights = false;  // whether somebody takes the sightings
  };
  Result<std::unique_ptr<http::Listener>> open(const reading::Endpoint& endpoint, http::Sharing sharing);

  Shared shared_;
  std::unique_ptr<http::RequestHandler> api_handler_;  // outlives the connections, which end with the event loop
  // Sockets are touched by this thread only, so the reactor needs no locks; posting from other threads is safe.
  boost::asio::io_context context_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
  http::Ticker ticker_;
  Traces traces_;
  ReplayCache replays_;
  Fetching fetching_;
  std::shared_ptr<const Plan> plan_;
  Listeners listeners_;
  std::optional<Time> drain_until_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace semel::gateway
