// What an operator can count: one instance for the whole process, written by every thread, read by /metrics.
//
// Counters are atomics that are only added to; nothing here locks, allocates or knows a key, a body or a secret.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "telemetry/histogram.h"
#include "telemetry/webhook_metrics.h"
#include <semel/clock.h>
#include <semel/problem.h>

namespace semel::telemetry {

// How a request ended, as metrics and logs call it.
enum class Ending : std::uint8_t {
  passed,      // not guarded
  unkeyed,     // guarded, but no key was sent and none is needed
  ran,         // first run, answer kept
  released,    // ran, but may run again
  unknown,     // ran, and nobody knows what came of it
  replayed,    // a duplicate got the stored answer
  refused,     // see the problem
  malformed,   // not a request we take
  observed,    // mode = "observe": passed through, but looked at
  superseded,  // an event older than one of its object that has been processed: acknowledged, not handed on
};
inline constexpr std::size_t endings = 10;
std::string_view name(Ending ending);

inline constexpr std::size_t problem_types = static_cast<std::size_t>(ProblemType::misdirected) + 1;

// What a store tells of itself: made before the store, and counted on its thread.
struct StoreMetrics {
  Histogram batch_writes{count_bounds};
  Histogram sync_seconds;
};

// Counters of one route; label is the path pattern of the configuration.
struct RouteMetrics {
  explicit RouteMetrics(std::string path) : label(std::move(path)) {}
  std::string label;
  std::array<std::atomic<std::uint64_t>, endings> by_ending{};
  std::array<std::atomic<std::uint64_t>, problem_types> by_problem{};
  std::atomic<std::uint64_t> would_replay{0};  // mode = "observe"
  std::atomic<std::uint64_t> would_refuse{0};
  std::atomic<std::uint64_t> bad_outcome_fields{0};
};

class LogSink;

class Metrics {
 public:
  // `store` may be nothing: not every store tells.
  explicit Metrics(std::shared_ptr<const StoreMetrics> store = nullptr) : store_(std::move(store)) {}

  // A route keeps its counters over reloads as long as its path stays the same. The reference stays valid for ever.
  RouteMetrics& route(std::string_view label);

  std::atomic<std::int64_t> in_flight{0};
  std::atomic<std::uint64_t> expired{0};
  std::atomic<std::uint64_t> store_errors{0};
  std::atomic<std::uint64_t> handshake_failures{0};
  std::atomic<std::uint64_t> connections_refused{0};
  std::atomic<std::uint64_t> slow_clients{0};
  const LogSink* log = nullptr;  // set before anything is rendered
  Histogram claim_seconds;
  Histogram complete_seconds;
  Histogram upstream_seconds;
  WebhookMetrics webhooks;

  // The Prometheus text format, version 0.0.4.
  [[nodiscard]] std::string render() const;

 private:
  void render_routes(std::string& out) const;
  [[nodiscard]] std::uint64_t refused(ProblemType problem) const;

  std::shared_ptr<const StoreMetrics> store_;
  mutable std::mutex mutex_;  // of the list, not of what is counted
  std::deque<RouteMetrics> routes_;
};

}  // namespace semel::telemetry
