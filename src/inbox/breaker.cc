// The window is a ring of ten slots, each a tenth of it long.
#include "inbox/breaker.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "inbox/verdict.h"
#include <semel/clock.h>

namespace semel::inbox {
namespace {

constexpr std::uint32_t ramp_end = 128;  // so many at once and it has recovered

}  // namespace

std::uint32_t Breaker::allowed(std::uint32_t wanted, Time now) const {
  switch (state_) {
    case State::open:
      return now >= probe_at_ ? std::min(wanted, 1U) : 0;
    case State::probing:
      return std::min(wanted, 1U);  // the probe itself is under way
    case State::closed:
      break;
  }
  return std::min(wanted, ramp_);
}

void Breaker::began(Time now) {
  if (state_ == State::open && now >= probe_at_) state_ = State::probing;
}

void Breaker::withdrew() {
  if (state_ == State::probing) state_ = State::open;
}

void Breaker::ended(Health health, Time now, double chance) {
  const bool failed = health == Health::failing;
  Slot& slot = slot_at(now);
  ++slot.attempts;
  if (failed) ++slot.failures;
  row_ = failed ? row_ + 1 : 0;
  if (state_ == State::probing) {
    if (failed) {
      open(now, chance);
      return;
    }
    state_ = State::closed;
    window_ = {};
    probes_ = 0;
    ramp_ = 1;
    ramp_done_ = 0;
  }
  if (state_ != State::closed) return;  // begun before it opened
  if (failed && (row_ >= rules_.in_a_row || failing_too_often(now) || ramp_ < ramp_end)) {
    open(now, chance);
    return;
  }
  if (failed || ramp_ >= ramp_end) return;
  if (++ramp_done_ < ramp_) return;
  ramp_done_ = 0;
  ramp_ *= 2;
  if (ramp_ >= ramp_end) ramp_ = UINT32_MAX;
}

// Full jitter: anything up to the longest wait of this round, but at least a tenth of it, or it would be no wait.
void Breaker::open(Time now, double chance) {
  const std::uint32_t doublings = std::min(probes_, 16U);
  const Millis longest = std::min(probe_first * (Millis::rep{1} << doublings), rules_.probe_max);
  const auto wait = static_cast<double>(longest.count()) * std::max(chance, 0.1);
  if (state_ == State::probing || probes_ == 0) ++probes_;
  state_ = State::open;
  probe_at_ = now + Millis{static_cast<Millis::rep>(wait)};
  row_ = 0;
}

std::int64_t Breaker::number_at(Time now) const {
  const Millis piece = std::max(rules_.window / static_cast<Millis::rep>(slots), Millis{1});
  return now.time_since_epoch() / piece;
}

Breaker::Slot& Breaker::slot_at(Time now) {
  const std::int64_t number = number_at(now);
  Slot& slot = window_.at(static_cast<std::size_t>(number % static_cast<std::int64_t>(slots)));
  if (slot.number != number) slot = {.number = number};
  return slot;
}

bool Breaker::failing_too_often(Time now) const {
  const std::int64_t oldest = number_at(now) - static_cast<std::int64_t>(slots) + 1;
  std::uint64_t attempts = 0;
  std::uint64_t failures = 0;
  for (const Slot& slot : window_) {
    if (slot.number < oldest) continue;
    attempts += slot.attempts;
    failures += slot.failures;
  }
  return attempts >= rules_.attempts_min && failures * 100 >= attempts * rules_.failures_percent;
}

}  // namespace semel::inbox
