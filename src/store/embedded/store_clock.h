// The time of an embedded store: the process's clock, but never behind what is on disk.
//
// If the wall clock was set back while the store was closed, time goes on from the last mark instead, at the pace of
// the clock: no lease comes back to life and no expiry is put off. A clock that was set forward looks the same as a
// store that was closed for long, so it is believed. When it is put right, the store keeps the later time, and every
// duration stays true.
#pragma once

#include <algorithm>
#include <chrono>

#include <semel/clock.h>

namespace semel::store::embedded {

class StoreClock {
 public:
  explicit StoreClock(const Clock& clock) : clock_(clock) {}

  // Call this before the first now().
  void start_from(Time mark) { ahead_ = std::max(mark - clock_.now(), Millis{0}); }

  [[nodiscard]] Time now() const { return clock_.now() + ahead_; }
  // How far now() is ahead of the process's clock.
  [[nodiscard]] Millis ahead() const { return ahead_; }
  [[nodiscard]] std::chrono::nanoseconds stopwatch() const { return clock_.stopwatch(); }

 private:
  const Clock& clock_;
  Millis ahead_{0};
};

}  // namespace semel::store::embedded
