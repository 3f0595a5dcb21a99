// Deadlines for many connections at the price of one timer.
//
// Every quarter of a second the ticker of a thread looks at all its deadlines and calls those that have passed. So a
// deadline may be noticed that much too late, and never too early. To set one costs a store to memory, no system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <boost/intrusive/list.hpp>

#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {

// What a missed deadline ends.
enum class Lateness : std::uint8_t {
  close,      // the connection
  interrupt,  // only what is under way on it, so that the peer can be told why
};

class Ticker {
 public:
  static constexpr Millis period{250};

  // Something that can be late: on_late is then called, once. Leaves its ticker when destroyed. For its thread only.
  class Watch : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
   public:
    Watch(Ticker& ticker, std::function<void()> on_late);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() = default;

    void expect_within(Millis time) { due_ = ticker_.tick_ + 1 + static_cast<std::uint64_t>(time / period); }
    void expect_nothing() { due_ = never; }
    // Waits for something that may never come. Ticker::cut_idle() may end it at any time after `grace`.
    void idle(Millis time, Millis grace = Millis{0}) {
      expect_within(time);
      spared_until_ = ticker_.tick_ + static_cast<std::uint64_t>((grace + period - Millis{1}) / period);
      idle_ = true;
    }
    void busy() { idle_ = false; }
    [[nodiscard]] bool resting() const { return idle_; }
    [[nodiscard]] bool late() const { return late_; }
    // The time, in steps of a period. Only differences have a meaning.
    [[nodiscard]] Millis now() const { return period * static_cast<Millis::rep>(ticker_.tick_); }
    [[nodiscard]] Ticker& ticker() const { return ticker_; }

   private:
    friend class Ticker;
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    void cut();

    Ticker& ticker_;
    std::function<void()> on_late_;
    std::uint64_t due_ = never;
    std::uint64_t spared_until_ = 0;
    bool idle_ = false;
    bool late_ = false;
  };

  Ticker(Clock& clock, Executor executor);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Returns at the next tick, or at once when the ticker has stopped.
  Task<void> next();

  void start();
  void stop();
  void cut_idle();

 private:
  void tick();
  void wake();

  Clock& clock_;
  Executor executor_;
  std::uint64_t tick_ = 0;
  std::unique_ptr<Clock::Alarm> alarm_;
  std::vector<std::move_only_function<void()>> sleepers_;
  boost::intrusive::list<Watch, boost::intrusive::constant_time_size<false>> watches_;
};

}  // namespace semel::http
