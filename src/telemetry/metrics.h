// What an operator can count: one instance for the whole process, written by every thread, read by /metrics.
//
// Counters are atomics that are only added to; nothing here locks, allocates or knows a key, a body or a secret.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "telemetry/api_metrics.h"
#include "telemetry/histogram.h"
#include "telemetry/log_sink.h"
#include "telemetry/route_metrics.h"  // IWYU pragma: export
#include "telemetry/webhook_metrics.h"

namespace semel::telemetry {

// What a store reports about itself: made before the store, and counted on its thread.
struct StoreMetrics {
  Histogram batch_writes{count_bounds};
  Histogram sync_seconds;
  std::atomic<std::uint64_t> lost_calls{0};  // of a Redis store
};

// Clients that got no answer of the usual kind.
struct ClientMetrics {
  std::atomic<std::uint64_t> handshake_failures{0};
  std::atomic<std::uint64_t> turned_away{0};  // there was no room
  std::atomic<std::uint64_t> slow{0};
};

class Metrics {
 public:
  // `store` is null if the store reports nothing. `log` is null if its lines are not counted; it outlives this.
  explicit Metrics(std::shared_ptr<const StoreMetrics> store = nullptr, const LogSink* log = nullptr)
      : store_(std::move(store)), log_(log) {}

  // See RouteTable.
  RouteMetrics& route(std::string_view label) { return routes_.route(label); }

  std::atomic<std::int64_t> in_flight{0};
  std::atomic<std::uint64_t> expired{0};
  std::atomic<std::uint64_t> store_errors{0};
  Histogram claim_seconds;
  Histogram complete_seconds;
  Histogram upstream_seconds;
  ClientMetrics clients;
  WebhookMetrics webhooks;
  ApiMetrics api;

  [[nodiscard]] const RouteTable& routes() const { return routes_; }
  [[nodiscard]] const StoreMetrics* store() const { return store_.get(); }  // null if the store reports nothing

  // The Prometheus text format, version 0.0.4.
  [[nodiscard]] std::string render() const;

 private:
  RouteTable routes_;
  std::shared_ptr<const StoreMetrics> store_;
  const LogSink* log_;
};

}  // namespace semel::telemetry
