// Events of one object under once(): in their turn, waiting if the policy says so, and not at all when overtaken.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/co_spawn.hpp>

#include "once/fixture.h"

namespace semel::test {
namespace {

constexpr Policy waiting{.in_flight = Policy::InFlight::wait};

SharedOrder order_of(std::string stamp) {
  return std::make_shared<const Order>(Order{.object = key_of(200), .stamp = std::move(stamp)});
}

class OrderTest : public OnceTest {
 protected:
  Slot deliver(std::uint8_t key, std::string stamp, Action action, Policy policy = {}) {
    auto slot = std::make_shared<std::optional<Answer>>();
    boost::asio::co_spawn(
        context.get_executor(),
        once.run(key_of(key), fingerprint_of(1), policy, std::move(action), Probe(), order_of(std::move(stamp))),
        [slot](const std::exception_ptr& error, Answer answer) {
          if (error) std::rethrow_exception(error);
          *slot = std::move(answer);
        });
    settle();
    return slot;
  }
};

// An event that a newer one has overtaken does not run, and its caller hears just that.
TEST_F(OrderTest, AnOvertakenEventDoesNotRun) {
  deliver(1, "2", answering(kept("new")));
  Work work;
  const Slot older = deliver(2, "1", work.action());
  ASSERT_TRUE(older->has_value());
  EXPECT_TRUE(std::holds_alternative<Superseded>(**older));
  EXPECT_EQ(work.runs(), 0);
}

// While another event of the object runs, the policy decides as for a duplicate: refused with a time to come again.
TEST_F(OrderTest, AnEventBehindAnotherIsToldToComeAgain) {
  Work first;
  deliver(1, "1", first.action());
  const Slot second = deliver(2, "2", answering(kept("two")));
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ(refused(**second).problem.type, ProblemType::in_flight);
  EXPECT_EQ(refused(**second).problem.retry, Problem::Retry::same_key);
  EXPECT_GT(refused(**second).retry_after, Millis{0});
  first.end(kept("one"));
  settle();
  EXPECT_TRUE(std::holds_alternative<Ran>(**deliver(2, "2", answering(kept("two")))));
}

// One that waits runs as soon as the other has ended, without the clock moving.
TEST_F(OrderTest, AnEventWaitsForTheOneBeforeIt) {
  Work first;
  Work second;
  deliver(1, "1", first.action());
  const Slot behind = deliver(2, "2", second.action(), waiting);
  EXPECT_EQ(second.runs(), 0);
  first.end(kept("one"));
  settle();
  EXPECT_EQ(second.runs(), 1);
  second.end(kept("two"));
  settle();
  ASSERT_TRUE(behind->has_value());
  EXPECT_EQ(ran(**behind).outcome.response->body, "two");
}

// One that waits behind a newer event learns that it was overtaken.
TEST_F(OrderTest, AWaitingEventCanBeOvertaken) {
  Work newer;
  deliver(1, "9", newer.action());
  Work work;
  const Slot older = deliver(2, "1", work.action(), waiting);
  EXPECT_FALSE(older->has_value());
  newer.end(kept("nine"));
  settle();
  ASSERT_TRUE(older->has_value());
  EXPECT_TRUE(std::holds_alternative<Superseded>(**older));
  EXPECT_EQ(work.runs(), 0);
}

// A newer event that fails lets the older one run that waited behind it.
TEST_F(OrderTest, AFailedEventLetsTheOlderOneRun) {
  Work newer;
  deliver(1, "9", newer.action());
  const Slot older = deliver(2, "1", answering(kept("one")), waiting);
  newer.end({.verdict = Verdict::release, .response = response_of("no")});
  settle();
  ASSERT_TRUE(older->has_value());
  EXPECT_TRUE(std::holds_alternative<Ran>(**older));
}

// Several wait for one object: each runs in its turn, whichever order they are woken in, and none is forgotten.
TEST_F(OrderTest, SeveralWaitForOneObject) {
  Work first;
  deliver(1, "1", first.action());
  std::vector<Slot> slots;
  for (std::uint8_t i = 2; i < 12; ++i) slots.push_back(deliver(i, "5", answering(kept("five")), waiting));
  first.end(kept("one"));
  settle();
  for (const Slot& slot : slots) {
    ASSERT_TRUE(slot->has_value());
    EXPECT_TRUE(std::holds_alternative<Ran>(**slot));
  }
}

// Whoever waits gives up after wait_max, however often the object changed hands meanwhile.
TEST_F(OrderTest, WaitingForAnObjectIsBounded) {
  Work first;
  deliver(1, "1", first.action());
  const Slot behind = deliver(2, "2", answering(kept("two")), waiting);
  pass(Millis{9'900});
  EXPECT_FALSE(behind->has_value());
  pass(Millis{200});
  ASSERT_TRUE(behind->has_value());
  EXPECT_EQ(refused(**behind).problem.type, ProblemType::in_flight);
  first.end(kept("one"));
  settle();
}

}  // namespace
}  // namespace semel::test
