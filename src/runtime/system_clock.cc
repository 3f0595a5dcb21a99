// The one file that reads the machine's clock and starts timers.
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <utility>

#include <time.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include "core/check.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel {
namespace {

std::chrono::nanoseconds read_exactly(clockid_t id) {
  timespec value{};
  core::check(clock_gettime(id, &value) == 0, "the kernel has the clocks that Semel needs");
  return std::chrono::seconds(value.tv_sec) + std::chrono::nanoseconds(value.tv_nsec);
}

Millis read(clockid_t id) {
  return std::chrono::duration_cast<Millis>(read_exactly(id));
}

class TimerAlarm : public Clock::Alarm {
 public:
  TimerAlarm(const Executor& executor, Millis delay, std::function<void()> ring)
      : timer_(executor, delay), ring_(std::make_shared<std::function<void()>>(std::move(ring))) {
    // The handler may already be queued when the alarm is destroyed, so it checks whether the alarm still exists.
    timer_.async_wait([weak = std::weak_ptr(ring_)](const boost::system::error_code& error) {
      const auto ring = weak.lock();
      if (!error && ring) (*ring)();
    });
  }

 private:
  boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                    Executor>
      timer_;
  std::shared_ptr<std::function<void()>> ring_;
};

class SystemClock : public Clock {
 public:
  [[nodiscard]] Time now() const override { return Time{offset_ + read(CLOCK_BOOTTIME)}; }

  [[nodiscard]] Time wall() const override { return Time{read(CLOCK_REALTIME)}; }

  [[nodiscard]] std::chrono::nanoseconds stopwatch() const override { return read_exactly(CLOCK_MONOTONIC); }

  [[nodiscard]] std::unique_ptr<Alarm> after(Executor executor, Millis delay, std::function<void()> ring) override {
    return std::make_unique<TimerAlarm>(std::move(executor), delay, std::move(ring));
  }

 private:
  Millis offset_ = read(CLOCK_REALTIME) - read(CLOCK_BOOTTIME);
};

}  // namespace

std::unique_ptr<Clock> make_system_clock() {
  return std::make_unique<SystemClock>();
}

}  // namespace semel
