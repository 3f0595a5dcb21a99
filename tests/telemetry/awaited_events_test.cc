// Events that have to come again: since when, how often they came, and when they are forgotten.
#include "telemetry/awaited_events.h"

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <semel/clock.h>
#include <semel/key.h>

namespace semel::telemetry {
namespace {

constexpr Time at(std::int64_t seconds) {
  return Time{Millis{1'000 * seconds}};
}

Digest key_of(std::size_t number) {
  Digest key{};
  for (std::size_t i = 0; i < 4; ++i) key.at(i) = static_cast<std::uint8_t>(number >> (8 * i));
  return key;
}

// The lag of an event is counted from when it came first, however often it comes again.
TEST(AwaitedEvents, RemembersWhenAnEventCameFirst) {
  AwaitedEvents awaited;
  awaited.add(key_of(2), at(20));
  awaited.add(key_of(1), at(10));
  awaited.add(key_of(1), at(30));
  const AwaitedEvents::View view = awaited.view(at(40));
  ASSERT_EQ(view.events.size(), 2U);
  EXPECT_EQ(view.events.front().key, key_of(1));
  EXPECT_EQ(view.events.front().since, at(10));
  EXPECT_EQ(view.events.front().last, at(30));
  EXPECT_EQ(view.events.front().times, 2U);
}

TEST(AwaitedEvents, ForgetsWhatWasHandled) {
  AwaitedEvents awaited;
  awaited.forget(key_of(1));
  awaited.add(key_of(1), at(10));
  awaited.add(key_of(2), at(11));
  awaited.forget(key_of(1));
  ASSERT_EQ(awaited.view(at(12)).events.size(), 1U);
  EXPECT_EQ(awaited.view(at(12)).events.front().key, key_of(2));
}

// No provider repeats an event for so long.
TEST(AwaitedEvents, ForgetsWhatIsTooOld) {
  AwaitedEvents awaited;
  awaited.add(key_of(1), at(0));
  EXPECT_EQ(awaited.view(Time{AwaitedEvents::kept_for} - Millis{1}).events.size(), 1U);
  EXPECT_TRUE(awaited.view(Time{AwaitedEvents::kept_for}).events.empty());
}

// When all places are taken the oldest stay, and the view says that there are more; until all have been handled.
TEST(AwaitedEvents, KeepsTheOldestOfTooMany) {
  AwaitedEvents awaited;
  for (std::size_t i = 0; i < AwaitedEvents::places + 10; ++i) awaited.add(key_of(i), at(static_cast<std::int64_t>(i)));
  const AwaitedEvents::View view = awaited.view(at(9'999));
  EXPECT_EQ(view.events.size(), AwaitedEvents::places);
  EXPECT_TRUE(view.partial);
  EXPECT_EQ(view.events.front().key, key_of(0));
  for (std::size_t i = 0; i < AwaitedEvents::places; ++i) awaited.forget(key_of(i));
  EXPECT_FALSE(awaited.view(at(9'999)).partial);
}

}  // namespace
}  // namespace semel::telemetry
