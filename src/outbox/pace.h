// How long a mover waits before it looks again: shortly while there is something to do, and then longer and longer.
#pragma once

#include <algorithm>

#include <semel/clock.h>

namespace semel::outbox {

class LookPace {
 public:
  LookPace(Millis busy, Millis idle) : busy_(busy), idle_(idle), next_(busy) {}

  void found(Time now) {
    found_ = now;
    next_ = busy_;
  }

  // It has looked, and there was nothing.
  Millis after_nothing(Time now) {
    if (now < found_ + stays_busy) return busy_;
    const Millis wait = next_;
    next_ = std::min(idle_, 2 * next_);
    return wait;
  }

 private:
  static constexpr Millis stays_busy{1'000};

  const Millis busy_;
  const Millis idle_;
  Millis next_;
  Time found_{};
};

}  // namespace semel::outbox
