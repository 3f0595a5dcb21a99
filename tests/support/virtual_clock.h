// A clock that a test turns by hand. Single-threaded use, or now()/advance() from several threads without alarms.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include <semel/clock.h>

namespace semel::test {

class VirtualClock : public Clock {
 public:
  explicit VirtualClock(Time start = Time{Millis{1'000'000'000'000}}) : now_(start) {}

  [[nodiscard]] Time now() const override { return now_.load(); }
  [[nodiscard]] Time wall() const override { return now() + wall_ahead_.load(); }
  [[nodiscard]] std::unique_ptr<Alarm> after(Executor executor, Millis delay, std::function<void()> ring) override;

  // Moves the time on and posts every alarm that is due, in the order in which they were due.
  void advance(Millis by);
  // The machine's wall clock is set: by so much it is ahead of the time that never goes back.
  void set_wall_ahead(Millis by) { wall_ahead_ = by; }
  // To the next alarm, if there is one: false if there is none.
  bool advance_to_next_alarm();
  [[nodiscard]] std::size_t alarms_pending() const;

 private:
  struct Pending;
  class Handle;

  mutable std::mutex mutex_;
  std::atomic<Time> now_;
  std::atomic<Millis> wall_ahead_{Millis{0}};
  std::multimap<Time, std::shared_ptr<Pending>> pending_;
};

}  // namespace semel::test
