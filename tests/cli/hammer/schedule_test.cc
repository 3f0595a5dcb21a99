// Which request of a hammer run is sent when: in order, at a rate, again, and other bodies only under keys that are
// taken.
#include "cli/hammer/schedule.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace semel::cli {
namespace {

using namespace std::chrono_literals;
using Nanos = std::chrono::nanoseconds;

HammerOptions options(std::uint32_t keys, std::uint32_t calls) {
  HammerOptions given;
  given.keys = keys;
  given.calls = calls;
  return given;
}

// What is due at `now`, all of it.
std::vector<Shot> due(Schedule& schedule, Nanos now) {
  std::vector<Shot> shots;
  while (const std::optional<Shot> shot = schedule.next(now)) shots.push_back(*shot);
  return shots;
}

// Goal: all requests of a key before those of the next, each as often as asked, and no more.
TEST(HammerSchedule, GoesKeyByKey) {
  const HammerOptions given = options(3, 2);
  Schedule schedule(given, 1);
  schedule.start(5s);
  EXPECT_EQ(schedule.next_due(), Nanos{0});
  std::vector<std::uint32_t> keys;
  for (const Shot& shot : due(schedule, 5s)) {
    keys.push_back(shot.key);
    EXPECT_EQ(shot.letter, Letter::same);
    EXPECT_EQ(shot.tries, 0U);
  }
  EXPECT_EQ(keys, (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(schedule.next_due(), std::nullopt);
}

// Goal: at a rate, each request is due at its own moment, and none is handed out before it.
TEST(HammerSchedule, KeepsARate) {
  HammerOptions given = options(1, 4);
  given.rate = 2;
  Schedule schedule(given, 1);
  schedule.start(10s);
  EXPECT_EQ(due(schedule, 10s - 1ns).size(), 0U);
  EXPECT_EQ(due(schedule, 10s).size(), 1U);
  EXPECT_EQ(schedule.next_due(), Nanos(10'500ms));
  const std::vector<Shot> late = due(schedule, 11s);  // nobody had a connection for the one before
  ASSERT_EQ(late.size(), 2U);
  EXPECT_EQ(late.front().due, Nanos(10'500ms));
  EXPECT_EQ(late.back().due, Nanos(11s));
}

// Goal: what is to be sent again comes when it is due, before anything new, and is counted.
TEST(HammerSchedule, SendsAgain) {
  const HammerOptions given = options(2, 1);
  Schedule schedule(given, 1);
  schedule.start(0s);
  const std::optional<Shot> first = schedule.next(0s);
  ASSERT_TRUE(first);
  schedule.again(*first, 3s);
  const std::optional<Shot> second = schedule.next(2s);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->key, 1U);
  EXPECT_EQ(schedule.next_due(), Nanos(3s));
  EXPECT_EQ(schedule.next(3s - 1ns), std::nullopt);
  schedule.again(*second, 1s);
  EXPECT_EQ(schedule.next_due(), Nanos(1s));
  const std::vector<Shot> again = due(schedule, 3s);
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again.front().key, 1U);
  EXPECT_EQ(again.back().key, 0U);
  EXPECT_EQ(again.back().tries, 1U);
}

// Goal: another body is never the first of its key: it waits until the key is known to be taken.
TEST(HammerSchedule, HoldsOtherBodiesBack) {
  HammerOptions given = options(1, 100);
  given.wrong_percent = 90;
  Schedule schedule(given, 7);
  schedule.start(0s);
  const std::vector<Shot> before = due(schedule, 0s);
  for (const Shot& shot : before) EXPECT_EQ(shot.letter, Letter::same);
  ASSERT_LT(before.size(), 50U);
  EXPECT_EQ(schedule.next_due(), std::nullopt);
  schedule.confirm(0, 1s);
  const std::vector<Shot> after = due(schedule, 1s);
  EXPECT_EQ(before.size() + after.size(), 100U);
  for (const Shot& shot : after) EXPECT_EQ(shot.letter, Letter::other);
  schedule.confirm(0, 2s);
  EXPECT_EQ(due(schedule, 2s).size(), 0U);
}

// Goal: a taken key gets its other bodies at once.
TEST(HammerSchedule, SendsOtherBodiesOfATakenKeyAtOnce) {
  HammerOptions given = options(1, 100);
  given.wrong_percent = 90;
  Schedule schedule(given, 7);
  schedule.start(0s);
  EXPECT_TRUE(schedule.next(0s));
  schedule.confirm(0, 0s);
  EXPECT_EQ(due(schedule, 0s).size(), 99U);
}

// Goal: connections are cut as often as asked, at both places; never if nobody asked.
TEST(HammerSchedule, DrawsCuts) {
  HammerOptions given = options(1, 1);
  Schedule gentle(given, 3);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(gentle.draw_cut(), Cut::nowhere);
  given.cut_percent = 50;
  Schedule rough(given, 3);
  int sending = 0;
  int reading = 0;
  for (int i = 0; i < 1'000; ++i) {
    const Cut cut = rough.draw_cut();
    sending += cut == Cut::after_sending ? 1 : 0;
    reading += cut == Cut::while_reading ? 1 : 0;
  }
  EXPECT_NEAR(sending + reading, 500, 100);
  EXPECT_NEAR(sending, 250, 80);
}

}  // namespace
}  // namespace semel::cli
