// The last hour of a gateway, as the dashboard plots it: what the counters were every ten seconds.
//
// Counters are only added to, so two samples tell what happened between them. Sampling costs some hundred loads of
// atomics; nothing is counted twice, and nothing is added to the path of a request.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "telemetry/histogram.h"
#include "telemetry/metrics.h"
#include "telemetry/route_metrics.h"
#include <semel/clock.h>

namespace semel::telemetry {

// The counters at one time.
struct Moment {
  Time at{};
  std::array<std::uint64_t, endings> ended{};
  std::array<std::uint64_t, problem_types> refused{};
  std::uint64_t store_errors = 0;
  std::uint64_t turned_away = 0;
  std::int64_t in_flight = 0;
  Histogram::Counts commit{};  // of the store; all zero if it reports nothing
  Histogram::Counts claim{};
  Histogram::Counts upstream{};
};

Moment moment_of(const Metrics& metrics, Time at);

// The value below which `share` of what was added between the two samples lies, in seconds; negative if nothing was
// added. Within a bucket, values are taken to be spread evenly.
double quantile(const Histogram::Counts& before, const Histogram::Counts& after, double share);

// May be called from any thread.
class Recent {
 public:
  static constexpr Millis step{10'000};
  static constexpr std::size_t kept = 361;  // an hour

  void add(const Moment& moment);
  [[nodiscard]] std::vector<Moment> all() const;  // oldest first

 private:
  mutable std::mutex mutex_;
  std::deque<Moment> moments_;
};

}  // namespace semel::telemetry
