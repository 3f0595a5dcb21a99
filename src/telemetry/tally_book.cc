#include "telemetry/tally_book.h"

#include "telemetry/tally.h"

namespace semel::telemetry {

// The memory stays, for the next second.
void TallyBook::clear() {
  for (auto& [route, tally] : routes_) {
    tally.counts.fill(0);
    for (auto& [outcome, sketch] : tally.times) sketch.clear();
  }
  scopes_.clear();
  used_ = false;
}

}  // namespace semel::telemetry
