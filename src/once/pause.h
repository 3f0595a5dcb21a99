// A pause that a coroutine makes until it is rung, or until time is up.
//
// Used on one executor only: make it, wait for it and ring it there (post() to get there).
#pragma once

#include <functional>
#include <memory>

#include <semel/async.h>
#include <semel/clock.h>

namespace semel {

class Pause : public std::enable_shared_from_this<Pause> {
 public:
  explicit Pause(Clock& clock) : clock_(clock) {}

  // Returns when ring() has been called, now or earlier, or after `limit`.
  Task<void> wait(Millis limit);

  void ring();

 private:
  Clock& clock_;
  bool rung_ = false;
  std::move_only_function<void()> resume_;
};

Task<void> sleep(Clock& clock, Millis time);

}  // namespace semel
