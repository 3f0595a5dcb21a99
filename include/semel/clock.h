// The one source of time.
//
// Nothing in Semel reads the system's clock or starts a timer except through a Clock that it was given, so a test can
// put any hour of any year at any line. Stores on a server tell time by the server's clock instead, and say so.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <semel/async.h>

namespace semel {

using Millis = std::chrono::milliseconds;
using Time = std::chrono::sys_time<Millis>;

class Clock {
 public:
  virtual ~Clock() = default;

  // The time now. Never goes back within a process, whatever happens to the machine's wall clock.
  [[nodiscard]] virtual Time now() const = 0;

  // For measuring how long something took: as now(), but finer where the clock can tell. Only differences mean
  // anything.
  [[nodiscard]] virtual std::chrono::nanoseconds stopwatch() const { return now().time_since_epoch(); }

  // Destroying an Alarm silences it. Destroy it on the executor that it rings on; then it never rings afterwards.
  class Alarm {
   public:
    virtual ~Alarm() = default;
  };

  // Calls `ring` once, on `executor`, after `delay`. Never calls it before returning.
  [[nodiscard]] virtual std::unique_ptr<Alarm> after(Executor executor, Millis delay, std::function<void()> ring) = 0;
};

// The machine's time: wall time when it was made, then as the boot clock goes. Stepping the wall clock while the
// process runs moves no lease and no expiry.
std::unique_ptr<Clock> make_system_clock();

}  // namespace semel
