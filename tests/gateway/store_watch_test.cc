// A store that is late: its client is answered without it, once, and what it says afterwards changes nothing.
#include "gateway/store_watch.h"

#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include "gateway/told.h"
#include "gateway/world.h"
#include "support/fake_transaction.h"
#include "telemetry/metrics.h"
#include <semel/async.h>

namespace semel::gateway {
namespace {

class StoreWatchTest : public testing::Test {
 protected:
  Task<Told> late_answer() {
    ++answers_made;
    co_return told_plainly(telemetry::Ending::refused, 503, "The store does not answer.");
  }

  test::World world;
  test::FakeTransaction client{world.context.get_executor(), "POST", "/payments"};
  Incoming incoming = world.incoming(client);
  int answers_made = 0;
  StoreWatch watch{incoming, Millis{5'000}, [this] { return late_answer(); }};
};

// In time: the alarm is off, and nobody is told anything.
TEST_F(StoreWatchTest, SaysNothingWhenTheStoreAnswers) {
  watch.start();
  EXPECT_EQ(client.alarm_time(), Millis{5'000});
  EXPECT_TRUE(watch.in_time());
  EXPECT_FALSE(client.alarm_time());
  world.settle();
  EXPECT_EQ(answers_made, 0);
  EXPECT_EQ(client.status_sent(), 0);
}

// Late: the client has its answer at once, its connection ends, and it counts as an error of the store.
TEST_F(StoreWatchTest, AnswersWithoutTheStore) {
  watch.start();
  client.ring();
  EXPECT_FALSE(watch.in_time());  // before anything was sent
  world.settle();
  EXPECT_EQ(client.status_sent(), 503);
  EXPECT_TRUE(client.received().ended);
  EXPECT_TRUE(client.closes());
  EXPECT_TRUE(client.sending_ended());
  EXPECT_EQ(world.metrics.store_errors.load(), 1U);
  EXPECT_FALSE(watch.in_time());
  EXPECT_EQ(answers_made, 1);
}

// What the client was told is returned when the store has answered after all, and is not sent again.
TEST_F(StoreWatchTest, ReturnsWhatWasTold) {
  watch.start();
  client.ring();
  bool ended = false;
  boost::asio::co_spawn(
      world.context,
      [](StoreWatch* late, bool* end) -> Task<void> {
        const Told told = co_await late->told();
        EXPECT_EQ(told.ending, telemetry::Ending::refused);
        EXPECT_TRUE(std::holds_alternative<AlreadySent>(told.reply));
        *end = true;
      }(&watch, &ended),
      boost::asio::detached);
  world.settle();
  EXPECT_TRUE(ended);
  EXPECT_EQ(answers_made, 1);
}

// After a probe the store is asked again, and has its whole time again.
TEST_F(StoreWatchTest, StartsAgain) {
  watch.start();
  EXPECT_TRUE(watch.in_time());
  watch.start();
  EXPECT_EQ(client.alarm_time(), Millis{5'000});
  client.ring();
  world.settle();
  EXPECT_EQ(client.status_sent(), 503);
}

}  // namespace
}  // namespace semel::gateway
