// What an operator can count of each route.
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

#include "telemetry/histogram.h"
#include <semel/problem.h>

namespace semel::telemetry {

// How a request ended, as metrics and logs call it.
enum class Ending : std::uint8_t {
  passed,      // not guarded
  unkeyed,     // guarded, but no key was sent and none is needed
  ran,         // first run, answer kept
  released,    // ran, but may run again
  unknown,     // ran, and its outcome is not known
  replayed,    // a duplicate got the stored answer
  refused,     // see the problem
  malformed,   // not a valid request
  observed,    // mode = "observe": passed through, but looked at
  superseded,  // an event older than one of its object that has been processed: acknowledged, not handed on
  accepted,    // an event is in the inbox: acknowledged, to be delivered
};
inline constexpr std::size_t endings = 11;
std::string_view name(Ending ending);

inline constexpr std::size_t problem_types = static_cast<std::size_t>(ProblemType::misdirected) + 1;

// Counters of one route; label is the path pattern of the configuration.
struct RouteMetrics {
  explicit RouteMetrics(std::string path) : label(std::move(path)) {}
  std::string label;
  std::array<std::atomic<std::uint64_t>, endings> by_ending{};
  std::array<std::atomic<std::uint64_t>, problem_types> by_problem{};
  std::atomic<std::uint64_t> would_replay{0};  // mode = "observe"
  std::atomic<std::uint64_t> would_refuse{0};
  std::atomic<std::uint64_t> bad_outcome_fields{0};
  Histogram upstream_seconds;
};

// The counters of all routes.
class RouteTable {
 public:
  // A route keeps its counters over reloads as long as its path stays the same. The reference is valid as long as this.
  RouteMetrics& route(std::string_view label);

  // How many requests of all routes were refused with this problem.
  [[nodiscard]] std::uint64_t refused(ProblemType problem) const;

  // How many requests of all routes ended in each way.
  [[nodiscard]] std::array<std::uint64_t, endings> ended() const;

  void render(std::string& out) const;

 private:
  mutable std::mutex mutex_;  // of the list, not of what is counted
  std::deque<RouteMetrics> routes_;
};

}  // namespace semel::telemetry
