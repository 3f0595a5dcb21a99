// What one thread counts: requests of the running minute, by route and by scope. Nothing here locks or allocates once
// every route has been seen; what was counted is handed on about once a second (tally_ledger.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "telemetry/route_metrics.h"
#include "telemetry/tally.h"
#include "telemetry/top_scopes.h"
#include <semel/clock.h>

namespace semel::telemetry {

class TallyBook {
 public:
  // The routes are those of a RouteTable that outlives this. `scope` is none if the request has no key.
  void add(const RouteMetrics& route, TallyOutcome outcome, std::optional<std::uint64_t> scope,
           std::chrono::nanoseconds took) {
    TallySum& tally = routes_[&route];
    tally.counts[static_cast<std::size_t>(outcome)]++;
    tally.times_of(outcome).add(took);
    if (scope) scopes_.add(*scope, outcome);
    used_ = true;
  }

  [[nodiscard]] bool used() const { return used_; }
  [[nodiscard]] const std::unordered_map<const RouteMetrics*, TallySum>& routes() const { return routes_; }
  [[nodiscard]] const TopScopes& scopes() const { return scopes_; }
  void clear();

 private:
  std::unordered_map<const RouteMetrics*, TallySum> routes_;
  TopScopes scopes_;
  bool used_ = false;
};

}  // namespace semel::telemetry
