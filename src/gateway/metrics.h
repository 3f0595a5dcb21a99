// What an operator can count: one instance for the whole process, written by every thread, read by /metrics.
//
// Counters are atomics that are only added to; nothing here locks, allocates or knows a key, a body or a secret.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/webhook_metrics.h"
#include <semel/clock.h>
#include <semel/problem.h>

namespace semel {

// How a request ended, as metrics and logs call it.
enum class Ending : std::uint8_t {
  passed,     // not guarded
  unkeyed,    // guarded, but no key was sent and none is needed
  ran,        // first run, answer kept
  released,   // ran, but may run again
  unknown,    // ran, and nobody knows what came of it
  replayed,   // a duplicate got the stored answer
  refused,    // see the problem
  malformed,  // not a request we take
  observed,   // mode = "observe": passed through, but looked at
};
inline constexpr std::size_t endings = 9;
std::string_view name(Ending ending);

inline constexpr std::size_t problem_types = static_cast<std::size_t>(ProblemType::no_route) + 1;

class Histogram {
 public:
  // Upper bounds in seconds; the last bucket has none.
  static constexpr std::array<double, 14> bounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                 0.025,  0.05,    0.1,    0.25,  1,      5,     30};
  void add(double seconds);
  void render(std::string& out, std::string_view name, std::string_view labels) const;

 private:
  std::array<std::atomic<std::uint64_t>, bounds.size() + 1> counts_{};
  std::atomic<std::uint64_t> sum_micros_{0};
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

class Metrics {
 public:
  // A route keeps its counters over reloads as long as its path stays the same. The reference stays valid for ever.
  RouteMetrics& route(std::string_view label);

  std::atomic<std::int64_t> in_flight{0};
  std::atomic<std::uint64_t> expired{0};
  std::atomic<std::uint64_t> store_errors{0};
  Histogram claim_seconds;
  Histogram upstream_seconds;
  WebhookMetrics webhooks;

  // The Prometheus text format, version 0.0.4.
  [[nodiscard]] std::string render() const;

 private:
  mutable std::mutex mutex_;  // of the list, not of what is counted
  std::deque<RouteMetrics> routes_;
};

}  // namespace semel
