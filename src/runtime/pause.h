// A pause: a coroutine waits until it is rung, or until time is up.
//
// Used on one executor only: make it, wait for it and ring it there (post() to get there).
//
// A sleeping coroutine belongs to its pause, and the pause to the coroutine: nothing else would ever end the two. So
// the io_context keeps a list of those that sleep on it, and ends them when it is destroyed (Dormitory in pause.cc).
#pragma once

#include <functional>
#include <memory>

#include <boost/intrusive/list_hook.hpp>

#include <semel/async.h>
#include <semel/clock.h>

namespace semel::runtime {

class Pause : public std::enable_shared_from_this<Pause>,
              public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  explicit Pause(Clock& clock) : clock_(clock) {}

  // Returns when ring() has been called, now or earlier, or after `limit`.
  Task<void> wait(Millis limit);

  void ring();
  // Destroys the coroutine that waits, and with it everything that it owns; this pause may be part of that.
  void abandon();

 private:
  Clock& clock_;
  bool rung_ = false;
  std::move_only_function<void()> resume_;
};

Task<void> sleep(Clock& clock, Millis time);

}  // namespace semel::runtime
