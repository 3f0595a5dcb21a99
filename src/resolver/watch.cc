#include "resolver/watch.h"

#include <algorithm>
#include <cstdint>

#include "resolver/ruling.h"
#include <semel/clock.h>

namespace semel::resolver {
namespace {

constexpr Millis pause_max{3'600'000};
constexpr std::uint32_t doublings_max = 20;
constexpr Millis pause_min{10};

}  // namespace

void SourceClock::reached(Time now) {
  if (last_ && now > *last_) reading_ += std::min(now - *last_, step_max_);
  last_ = now;
}

void KeyWatch::take_up(Millis watched, bool seen, std::uint32_t asks, Millis reading) {
  quiet_at_ = reading;
  watched_ = watched;
  seen_ = seen;
  asks_ = asks;
}

Millis SourceClock::counted_since(Millis reading) const {
  const Millis passed = reading_ - reading;
  return failed_at_ && *failed_at_ >= reading ? std::min(passed, step_max_) : passed;
}

Doubt KeyWatch::hear(const Testimony& said, const SourceClock& clock, Millis age) {
  const bool seen_before = seen_;
  switch (said.said) {
    case SourceSaid::nothing:
      break;
    case SourceSaid::failed:
    case SourceSaid::unclear:
      ++asks_;
      quiet_at_.reset();
      watched_ = Millis{0};
      break;
    case SourceSaid::absent:
    case SourceSaid::pending:
      ++asks_;
      seen_ = seen_ || said.said == SourceSaid::pending;
      if (quiet_at_) watched_ += clock.counted_since(*quiet_at_);
      quiet_at_ = clock.reading();
      break;
    default:
      ++asks_;
      seen_ = true;
      break;
  }
  return {.age = age, .watched = watched_, .seen = seen_before};
}

Millis KeyWatch::pause(const RulingTerms& terms, const Testimony& said, Millis first) const {
  if (said.said == SourceSaid::nothing) return first;
  const std::uint32_t doublings = std::min(asks_ == 0 ? 0 : asks_ - 1, doublings_max);
  const Millis usual = std::min(first * (std::int64_t{1} << doublings), std::max(pause_max, first));
  if (said.said != SourceSaid::absent && said.said != SourceSaid::pending) return usual;
  const Millis left = terms.certain_after + said.lag - watched_;
  return left > Millis{0} ? std::clamp(left, pause_min, usual) : usual;
}

}  // namespace semel::resolver
