// The one source of time.
//
// Semel reads the system's clock and starts timers only through a Clock that it was given, so a test can set any time
// at any line. Stores on a server tell time by the server's clock instead, and say so. Most programs call
// make_system_clock() once and pass the result to everything.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <semel/async.h>

namespace semel {

using Millis = std::chrono::milliseconds;
using Time = std::chrono::sys_time<Millis>;

// now() and stopwatch() may be called from any thread. A Clock must outlive everything that it was given to.
class Clock {
 public:
  virtual ~Clock() = default;

  // Returns the time. It never goes back within a process, whatever happens to the machine's wall clock.
  [[nodiscard]] virtual Time now() const = 0;

  // Returns the wall time as the machine has it now: it goes where the machine's clock is set. For comparing with times
  // that come from elsewhere, such as those that a webhook's signature covers; never for a lease or an expiry.
  [[nodiscard]] virtual Time wall() const { return now(); }

  // For measuring how long something took: like now(), but finer if the clock can be. Only differences have a meaning.
  [[nodiscard]] virtual std::chrono::nanoseconds stopwatch() const { return now().time_since_epoch(); }

  // Destroying an Alarm cancels it. If it is destroyed on the executor that it rings on, it never rings afterwards.
  class Alarm {
   public:
    virtual ~Alarm() = default;
  };

  // Calls `ring` once, on `executor`, after `delay`. Never calls it before returning.
  [[nodiscard]] virtual std::unique_ptr<Alarm> after(Executor executor, Millis delay, std::function<void()> ring) = 0;
};

// The machine's time: now() begins at the wall time of its creation and follows the boot clock. Stepping the wall clock
// while the process runs moves no lease and no expiry; it moves wall().
std::unique_ptr<Clock> make_system_clock();

}  // namespace semel
