#include "telemetry/recent.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "telemetry/histogram.h"
#include "telemetry/metrics.h"
#include "telemetry/route_metrics.h"
#include <semel/clock.h>
#include <semel/problem.h>

namespace semel::telemetry {

Moment moment_of(const Metrics& metrics, Time at) {
  Moment moment;
  moment.at = at;
  moment.ended = metrics.routes().ended();
  for (std::size_t i = 0; i < problem_types; ++i) {
    moment.refused.at(i) = metrics.routes().refused(static_cast<ProblemType>(i));
  }
  moment.store_errors = metrics.store_errors.load(std::memory_order_relaxed);
  moment.turned_away = metrics.clients.turned_away.load(std::memory_order_relaxed);
  moment.in_flight = metrics.in_flight.load(std::memory_order_relaxed);
  if (metrics.store() != nullptr) moment.commit = metrics.store()->sync_seconds.counts();
  moment.claim = metrics.claim_seconds.counts();
  moment.upstream = metrics.upstream_seconds.counts();
  return moment;
}

double quantile(const Histogram::Counts& before, const Histogram::Counts& after, double share) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < after.size(); ++i) total += after.at(i) - before.at(i);
  if (total == 0) return -1;
  const double wanted = share * static_cast<double>(total);
  double below = 0;
  for (std::size_t i = 0; i < bounds_count; ++i) {
    const auto here = static_cast<double>(after.at(i) - before.at(i));
    const double from = i == 0 ? 0 : second_bounds.at(i - 1);
    if (here > 0 && below + here >= wanted) return from + (second_bounds.at(i) - from) * (wanted - below) / here;
    below += here;
  }
  return second_bounds.back();  // or more
}

void Recent::add(const Moment& moment) {
  const std::scoped_lock lock(mutex_);
  moments_.push_back(moment);
  if (moments_.size() > kept) moments_.pop_front();
}

std::vector<Moment> Recent::all() const {
  const std::scoped_lock lock(mutex_);
  return {moments_.begin(), moments_.end()};
}

}  // namespace semel::telemetry
