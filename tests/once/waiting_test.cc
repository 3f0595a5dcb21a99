// Waiting and cancelling: what happens around an action that takes its time.
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>

#include "once/fixture.h"
#include "runtime/pause.h"

namespace semel::test {
namespace {

namespace asio = boost::asio;

constexpr Policy waiting{.in_flight = Policy::InFlight::wait};

// A waiter gives up after wait_max with the answer it would have got at once without waiting.
TEST_F(OnceTest, StopsWaitingAfterWaitMax) {
  Work work;
  start(work.action(), waiting);
  const Slot second = start(work.action(), waiting);
  pass(Millis{9'900});
  EXPECT_FALSE(second->has_value());
  pass(Millis{200});
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ(refused(**second).problem.type, ProblemType::in_flight);
  EXPECT_EQ(work.runs(), 1);
  work.end(kept("x"));
  settle();
}

// When the holder releases, exactly one of the waiters runs next and the others wait for that one.
TEST_F(OnceTest, OneWaiterRunsAfterARelease) {
  Work failing;
  Work next;
  start(failing.action(), waiting);
  std::vector<Slot> slots;
  for (int i = 0; i < 10; ++i) slots.push_back(start(next.action(), waiting));
  failing.end({.verdict = Verdict::release, .response = response_of("no")});
  settle();
  EXPECT_EQ(next.runs(), 1);
  next.end(kept("yes"));
  settle();
  for (const Slot& slot : slots) EXPECT_TRUE(slot->has_value());
  EXPECT_EQ(next.runs(), 1);
}

// A waiter whose holder died wakes when the lease lapses, not when its own patience ends.
TEST_F(OnceTest, WakesWhenTheLeaseOfADeadHolderLapses) {
  Once dead_process(*store, clock, 7);
  {
    asio::io_context dead(1);
    Work never;
    asio::co_spawn(dead.get_executor(),
                   dead_process.run(key_of(1), fingerprint_of(1), {.lease = Millis{2'000}}, never.action()),
                   [](const std::exception_ptr&, const Answer&) {});
    dead.poll();
    ASSERT_EQ(never.runs(), 1);
  }
  const Slot waiter = start(answering(kept("x")), waiting);
  EXPECT_FALSE(waiter->has_value());
  pass(Millis{2'000});
  ASSERT_TRUE(waiter->has_value());
  EXPECT_EQ(refused(**waiter).problem.type, ProblemType::outcome_unknown);
}

// Only so many may wait; the next one is answered at once.
TEST_F(OnceTest, BoundsTheNumberOfWaiters) {
  Once small(*store, clock, 7, 2);
  Work work;
  std::vector<Slot> slots;
  for (int i = 0; i < 4; ++i) {
    auto slot = std::make_shared<std::optional<Answer>>();
    asio::co_spawn(context.get_executor(), small.run(key_of(1), fingerprint_of(1), waiting, work.action()),
                   [slot](const std::exception_ptr&, Answer answer) { *slot = std::move(answer); });
    settle();
    slots.push_back(slot);
  }
  EXPECT_FALSE(slots[1]->has_value());
  EXPECT_FALSE(slots[2]->has_value());
  ASSERT_TRUE(slots[3]->has_value());
  EXPECT_EQ(refused(**slots[3]).problem.type, ProblemType::in_flight);
  work.end(kept("x"));
  settle();
  EXPECT_EQ(replayed(**slots[2]).response->body, "x");
}

Task<Outcome> aborted_by_its_caller() {
  asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Executor> timer(
      co_await asio::this_coro::executor, std::chrono::hours(1));
  co_await timer.async_wait(asio::use_awaitable_t<Executor>());
  co_return kept("never");
}

// Cancelling a call cancels its action; the claim is ended as unknown, not left to lapse.
TEST_F(OnceTest, EndsTheClaimWhenItIsCancelled) {
  asio::cancellation_signal signal;
  std::optional<Answer> answer;
  Action action = [](Fence) { return aborted_by_its_caller(); };
  asio::co_spawn(context.get_executor(), once.run(key_of(1), fingerprint_of(1), {}, std::move(action)),
                 asio::bind_cancellation_slot(signal.slot(), [&](const std::exception_ptr& error, Answer given) {
                   EXPECT_FALSE(error);
                   answer = std::move(given);
                 }));
  settle();
  signal.emit(asio::cancellation_type::terminal);
  settle();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(refused(*answer).problem.type, ProblemType::outcome_unknown);
  EXPECT_EQ(clock.alarms_pending(), 0U);
  EXPECT_EQ(refused(call(answering(kept("x")))).problem.type, ProblemType::outcome_unknown);
}

}  // namespace
}  // namespace semel::test
