// The gateway as a whole: a store, one worker per core, the admin listener, and how they start, reload and stop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "admin/admin.h"
#include "config/config.h"
#include "gateway/quotas.h"
#include "gateway/worker.h"
#include "http/listener.h"
#include "store/capable_store.h"
#include "telemetry/metrics.h"
#include "telemetry/observer.h"
#include "telemetry/request_log.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/result.h>

namespace semel::gateway {

class Gateway {
 public:
  // `seed` must differ from process to process. Code::unavailable: an address cannot be had. Code::invalid: the file of
  // a certificate cannot be used.
  static Result<std::unique_ptr<Gateway>> start(const std::shared_ptr<const config::Config>& config,
                                                store::CapableStore store, Clock& clock, telemetry::LogSink& log,
                                                std::uint64_t seed,
                                                std::shared_ptr<const telemetry::StoreMetrics> store_metrics = nullptr);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::uint16_t admin_port() const { return admin_port_; }
  [[nodiscard]] telemetry::Metrics& metrics() { return metrics_; }

  // Requests that are under way keep the configuration they started with. Listeners, threads, store and limits stay as
  // they were at the start; certificates are read again. Code::invalid: one of their files cannot be used, and nothing
  // has changed.
  Result<void> reload(const std::shared_ptr<const config::Config>& config);
  // No new connections; requests under way are finished.
  void drain();
  // At once. Keys that are running then stay so until their lease lapses.
  void stop();
  // Until every thread has ended.
  void wait();
  [[nodiscard]] bool ended() const;

 private:
  Gateway(store::CapableStore store, std::shared_ptr<const telemetry::StoreMetrics> store_metrics, Clock& clock,
          std::uint64_t seed, std::size_t waiters_max);
  Task<void> sweep();

  telemetry::Metrics metrics_;
  telemetry::Observer observer_;
  http::Gate gate_;
  Quotas quotas_;
  Once once_;                                     // outlives the calls that the workers drop when they end
  std::vector<std::unique_ptr<Worker>> workers_;  // outlive the store: calls that it ends are posted to them
  store::CapableStore store_;
  std::unique_ptr<admin::Admin> admin_;
  std::uint16_t port_ = 0;
  std::uint16_t admin_port_ = 0;
};

}  // namespace semel::gateway
