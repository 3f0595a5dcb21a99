// A world for once(): the memory store, a clock turned by hand, and actions that a test ends when it likes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "support/virtual_clock.h"
#include <semel/once.h>
#include <semel/stores.h>

namespace semel::test {

inline Key key_of(std::uint8_t first) {
  Key key;
  key.id[0] = first;
  key.space = "test";
  return key;
}

inline Fingerprint fingerprint_of(std::uint8_t first) {
  Fingerprint fingerprint;
  fingerprint.digest[0] = first;
  return fingerprint;
}

inline SharedResponse response_of(std::string body) {
  return std::make_shared<const Response>(
      Response{.status = 201, .fields = {{"Content-Type", "text/plain"}}, .body = std::move(body), .body_kept = true});
}

inline Outcome kept(std::string body) {
  return {.verdict = Verdict::keep, .response = response_of(std::move(body))};
}

// An action that stands still until the test says how it ends.
class Work {
 public:
  Action action() {
    return [this](Fence fence) { return act(fence); };
  }
  void end(Outcome outcome) {
    outcome_ = std::move(outcome);
    std::exchange(resume_, nullptr)();
  }
  [[nodiscard]] int runs() const { return runs_; }
  [[nodiscard]] Fence fence() const { return fence_; }

 private:
  Task<Outcome> act(Fence fence) {
    ++runs_;
    fence_ = fence;
    auto suspend = [this](auto handler) { resume_ = std::move(handler); };
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<Executor>&, void()>(
        std::move(suspend), boost::asio::use_awaitable_t<Executor>());
    co_return outcome_;
  }

  int runs_ = 0;
  Fence fence_;
  Outcome outcome_;
  std::move_only_function<void()> resume_;
};

class OnceTest : public testing::Test {
 protected:
  // Starts a call; its answer appears in the slot when it is there.
  using Slot = std::shared_ptr<std::optional<Answer>>;
  Slot start(Action action, Policy policy = {}, std::uint8_t key = 1, std::uint8_t fingerprint = 1, Probe probe = {}) {
    auto slot = std::make_shared<std::optional<Answer>>();
    boost::asio::co_spawn(
        context.get_executor(),
        once.run(key_of(key), fingerprint_of(fingerprint), policy, std::move(action), std::move(probe)),
        [slot](const std::exception_ptr& error, Answer answer) {
          if (error) std::rethrow_exception(error);
          *slot = std::move(answer);
        });
    settle();
    return slot;
  }

  // For actions that end by themselves.
  Answer call(Action action, Policy policy = {}, std::uint8_t key = 1, std::uint8_t fingerprint = 1, Probe probe = {}) {
    const Slot slot = start(std::move(action), policy, key, fingerprint, std::move(probe));
    while (!*slot && clock.advance_to_next_alarm()) settle();
    if (!*slot) throw std::runtime_error("the call never ended");
    return std::move(**slot);
  }

  void settle() {
    context.restart();
    context.poll();
  }

  void pass(Millis time) {
    // In small steps, so that alarms set by alarms ring in time.
    for (Millis step{0}; step < time; step += Millis{100}) {
      clock.advance(Millis{100});
      settle();
    }
  }

  boost::asio::io_context context{1};
  VirtualClock clock;
  std::unique_ptr<Store> store = make_memory_store(clock).store;
  Once once{*store, clock, 42};
};

inline const Refused& refused(const Answer& answer) {
  return std::get<Refused>(answer);
}
inline const Ran& ran(const Answer& answer) {
  return std::get<Ran>(answer);
}
inline const Replayed& replayed(const Answer& answer) {
  return std::get<Replayed>(answer);
}

inline Task<Outcome> give(Outcome outcome) {
  co_return outcome;
}
inline Action answering(Outcome outcome) {
  return [outcome = std::move(outcome)](Fence) { return give(outcome); };
}

}  // namespace semel::test
