// Pauses: who sleeps when its io_context goes away is ended with it.
#include "runtime/pause.h"

#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "once/waiters.h"
#include "support/virtual_clock.h"
#include <semel/clock.h>

namespace semel::test {
namespace {

namespace asio = boost::asio;

constexpr Millis an_hour{3'600'000};

Task<void> sleep_with(Clock* clock, std::shared_ptr<int> luggage) {
  co_await runtime::sleep(*clock, an_hour);
  *luggage = 1;
}

Task<void> wait_with(std::unique_ptr<once::Waiters::Place> place, std::shared_ptr<int> luggage) {
  co_await place->pause()->wait(an_hour);
  *luggage = 1;
}

// What a sleeping coroutine owns is given up with its io_context, whichever clock it sleeps by.
TEST(Pause, EndsItsCoroutineWithTheContext) {
  VirtualClock by_hand;
  const std::unique_ptr<Clock> system = make_system_clock();
  for (Clock* clock : {static_cast<Clock*>(&by_hand), system.get()}) {
    const auto luggage = std::make_shared<int>(0);
    {
      asio::io_context context(1);
      for (int i = 0; i < 3; ++i) {
        asio::co_spawn(context.get_executor(), sleep_with(clock, luggage), asio::detached);
      }
      context.poll();
      EXPECT_EQ(luggage.use_count(), 4);
    }
    EXPECT_EQ(luggage.use_count(), 1);
    EXPECT_EQ(*luggage, 0);
  }
}

// A waiter for a key that is dropped so leaves its place; waking the key later touches nobody.
TEST(Pause, LeavesItsPlaceAmongTheWaiters) {
  VirtualClock clock;
  once::Waiters waiters(clock, 2);
  Key key;
  key.id[0] = 1;
  const auto luggage = std::make_shared<int>(0);
  {
    asio::io_context context(1);
    for (int i = 0; i < 2; ++i) {
      auto place = waiters.enter(key, context.get_executor());
      ASSERT_NE(place, nullptr);
      asio::co_spawn(context.get_executor(), wait_with(std::move(place), luggage), asio::detached);
    }
    context.poll();
    EXPECT_EQ(waiters.enter(key, context.get_executor()), nullptr);
  }
  EXPECT_EQ(luggage.use_count(), 1);
  waiters.wake(key);
  asio::io_context next(1);
  EXPECT_NE(waiters.enter(key, next.get_executor()), nullptr);
}

// One that has been rung is on no list any more: the context ends without it.
TEST(Pause, IsForgottenOnceItHasRung) {
  VirtualClock clock;
  const auto luggage = std::make_shared<int>(0);
  std::optional<asio::io_context> context(1);
  asio::co_spawn(context->get_executor(), sleep_with(&clock, luggage), asio::detached);
  context->poll();
  clock.advance(an_hour);
  context->restart();
  context->poll();
  EXPECT_EQ(*luggage, 1);
  EXPECT_EQ(luggage.use_count(), 1);
  context.reset();
}

}  // namespace
}  // namespace semel::test
