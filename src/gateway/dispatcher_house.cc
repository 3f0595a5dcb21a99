// What the dispatcher does once a second: what has been kept long enough is dropped, and the figures are shown.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "gateway/destination_gate.h"
#include "gateway/dispatcher.h"
#include "inbox/breaker.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "telemetry/inbox_metrics.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::gateway {
namespace {

constexpr Millis house_every{1'000};
constexpr std::size_t sweep_limit = 500;
constexpr int sweep_rounds = 16;       // as many events can be dropped as are accepted; others have their turn between
constexpr Millis sweep_time_max{300};  // of a store that is slow

telemetry::InboxMetrics::Snapshot snapshot_of(const std::vector<store::DeliveryTally>& tallies,
                                              const DestinationGates& gates, Time now) {
  telemetry::InboxMetrics::Snapshot shown;
  for (const store::DeliveryTally& tally : tallies) {
    shown.accepted += tally.accepted;
    shown.unaccounted += tally.unaccounted();
    shown.bytes += tally.bytes;
    const Millis age = tally.oldest ? std::max(Millis{0}, now - *tally.oldest) : Millis{0};
    shown.oldest.push_back(
        {.source = tally.source, .destination = tally.to, .seconds = std::chrono::duration<double>(age).count()});
    for (std::size_t i = 1; i < store::delivery_states; ++i) {
      shown.states.push_back({.source = tally.source,
                              .destination = tally.to,
                              .state = std::string(name(static_cast<store::DeliveryState>(i))),
                              .count = tally.by_state.at(i)});
    }
  }
  for (const auto& gate : gates.current()) {
    const GateView view = gate->view();
    if (view.paused) ++shown.paused;
    if (view.breaker != inbox::Breaker::State::closed) ++shown.breakers_open;
  }
  return shown;
}

}  // namespace

Task<void> Dispatcher::keep_house() {
  const Time now = clock_.now();
  if (now < rounds_.kept_house + house_every) co_return;
  if (inbox_.is_shared() && gates_.current().empty()) co_return;  // a database is not asked for nothing
  rounds_.kept_house = now;
  for (int round = 0; round < sweep_rounds && clock_.now() < now + sweep_time_max && !draining_; ++round) {
    const Result<std::size_t> swept = co_await desk_.sweep_inbox(sweep_limit);
    if (!swept || *swept < sweep_limit) break;  // what was not dropped now is dropped later
  }
  const Result<std::vector<store::DeliveryTally>> tallies = co_await desk_.status();
  if (!tallies) co_return;
  if (!tallies->empty() || !gates_.current().empty()) notes_.metrics.show(snapshot_of(*tallies, gates_, now));
}

}  // namespace semel::gateway
