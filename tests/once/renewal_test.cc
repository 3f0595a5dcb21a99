// Renewals: many claims on one loop, one alarm, and none that nobody needs.
#include "once/renewal.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "once/fixture.h"
#include "support/faulty_store.h"
#include "support/virtual_clock.h"
#include <semel/clock.h>

namespace semel::test {
namespace {

constexpr Fence fence{.number = 1, .owner = 7};

// An action that hangs until its loop is destroyed: on a timer, which belongs to the loop.
Task<Outcome> hang(std::shared_ptr<int> luggage) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  boost::asio::steady_timer timer(executor, std::chrono::hours(1));
  co_await timer.async_wait(boost::asio::use_awaitable_t<Executor>());
  *luggage = 1;
  co_return Outcome();
}

class RenewalTest : public testing::Test {
 protected:
  RenewalTest() {
    store.follow([this](StoreCall call) {
      if (call == StoreCall::renew) renewed_at.push_back(clock.now() - begun);
      return fault;
    });
  }

  std::unique_ptr<once::Renewal> renewal(Millis lease) {
    return std::make_unique<once::Renewal>(store, clock, context->get_executor(), key, fence, lease);
  }
  void settle() {
    context->restart();
    context->poll();
  }
  void pass(Millis time) {
    for (Millis step{0}; step < time; ++step) {
      clock.advance(Millis{1});
      settle();
    }
  }

  VirtualClock clock;
  const Time begun = clock.now();
  std::unique_ptr<Store> inner = make_memory_store(clock).store;
  FaultyStore store{*inner, clock, {}};
  std::optional<boost::asio::io_context> context{1};
  const Key key = key_of(1);
  Fault fault{.kind = FaultKind::slow, .delay = Millis{0}};
  std::vector<Millis> renewed_at;
};

// An action that ends before its loop goes on sets no alarm at all, and leaves nothing that keeps the loop busy.
TEST_F(RenewalTest, SetsNoAlarmForAnActionThatDoesNotWait) {
  renewal(Millis{300}).reset();
  settle();
  EXPECT_EQ(clock.alarms_pending(), 0U);
  EXPECT_TRUE(context->stopped());
}

// However many claims wait on one loop, one alarm rings for them, and it is taken back when the last of them ends.
TEST_F(RenewalTest, SharesOneAlarm) {
  std::vector<std::unique_ptr<once::Renewal>> all;
  for (int i = 0; i < 10; ++i) all.push_back(renewal(Millis{300 + i}));
  settle();
  EXPECT_EQ(clock.alarms_pending(), 1U);
  all.resize(1);
  EXPECT_EQ(clock.alarms_pending(), 1U);
  all.clear();
  EXPECT_EQ(clock.alarms_pending(), 0U);
}

// Each claim is renewed by its own lease, also one that came later and is due earlier. The store does not know these
// claims, so it refuses each, and none is asked for again.
TEST_F(RenewalTest, RenewsEachByItsOwnLease) {
  const auto slow = renewal(Millis{900});
  settle();
  pass(Millis{50});
  const auto quick = renewal(Millis{300});
  settle();
  pass(Millis{1'000});
  EXPECT_EQ(renewed_at, (std::vector<Millis>{Millis{150}, Millis{300}}));
  EXPECT_EQ(clock.alarms_pending(), 0U);
}

// While the store does not answer, the next attempt comes sooner than after a renewal.
TEST_F(RenewalTest, TriesAgainSoonerWhenTheStoreDoesNotAnswer) {
  fault = {.kind = FaultKind::refused};
  const auto claim = renewal(Millis{300});
  settle();
  pass(Millis{170});
  EXPECT_EQ(renewed_at, (std::vector<Millis>{Millis{100}, Millis{130}, Millis{160}}));
}

// An action that ends while its renewal is under way is not renewed again.
TEST_F(RenewalTest, IsForgottenWhenTheActionEndsDuringARenewal) {
  fault = {.kind = FaultKind::request_lost, .delay = Millis{50}};
  auto claim = renewal(Millis{300});
  settle();
  pass(Millis{120});
  claim.reset();
  pass(Millis{500});
  EXPECT_EQ(renewed_at, (std::vector<Millis>{Millis{100}}));
  EXPECT_EQ(clock.alarms_pending(), 0U);
}

// A loop that is destroyed with claims on it takes its alarm along, whichever clock it is of.
TEST(Renewal, EndsWithItsLoop) {
  VirtualClock by_hand;
  const std::unique_ptr<Clock> system = make_system_clock();
  for (Clock* clock : {static_cast<Clock*>(&by_hand), system.get()}) {
    const std::unique_ptr<Store> store = make_memory_store(*clock).store;
    Once once(*store, *clock, 1);
    const auto luggage = std::make_shared<int>(0);
    {
      boost::asio::io_context context(1);
      Action action = [luggage](Fence) { return hang(luggage); };
      boost::asio::co_spawn(context, once.run(key_of(1), fingerprint_of(1), {}, std::move(action)),
                            boost::asio::detached);
      context.poll();
      EXPECT_GT(luggage.use_count(), 1);
    }
    EXPECT_EQ(luggage.use_count(), 1);
  }
  EXPECT_EQ(by_hand.alarms_pending(), 0U);
}

}  // namespace
}  // namespace semel::test
