// When it makes sense to look for what is due at a destination.
#include "gateway/destination_gate.h"

#include <cstddef>
#include <optional>

#include <gtest/gtest.h>

#include "inbox/destination.h"
#include "inbox/verdict.h"
#include "reading/units.h"
#include <semel/clock.h>

namespace semel::gateway {
namespace {

const Time start{Millis{1'000'000}};

inbox::Destination limited(std::uint32_t count) {
  inbox::Destination rules;
  rules.name = "billing";
  rules.concurrency = 8;
  rules.rate = reading::Rate{.count = count, .per = Millis{1'000}};
  return rules;
}

// What a rate holds back begins when the rate allows it, without anything else happening.
TEST(DestinationGate, LooksAgainWhenTheRateAllowsIt) {
  DestinationGate gate(limited(2));
  EXPECT_EQ(gate.enter(8, start), 2U);
  gate.leave(inbox::Health::well, start, 0);
  gate.leave(inbox::Health::well, start, 0);
  gate.looked(start);  // more is due
  const std::optional<Millis> wait = gate.look_in(start);
  ASSERT_TRUE(wait.has_value());
  EXPECT_GT(*wait, Millis{0});
  EXPECT_LE(*wait, Millis{501});
  const Time later = start + *wait;
  EXPECT_EQ(gate.look_in(later), Millis{0});
  EXPECT_EQ(gate.enter(8, later), 1U);
}

// Slots that nothing was found for use up no rate.
TEST(DestinationGate, GivesUnusedRateBack) {
  DestinationGate gate(limited(4));
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(gate.enter(8, start), 4U);
    gate.withdraw(4);
    ASSERT_EQ(gate.look_in(start), Millis{0});
  }
  EXPECT_EQ(gate.enter(8, start), 4U);
}

// What runs without a slot takes the room and the rate of what comes after it.
TEST(DestinationGate, CountsWhatRunsWithoutASlot) {
  DestinationGate gate(limited(8));
  ASSERT_EQ(gate.enter(2, start), 2U);
  gate.exceed(10);
  EXPECT_EQ(gate.view().running, 12U);
  EXPECT_EQ(gate.enter(8, start), 0U);
  for (int i = 0; i < 12; ++i) gate.leave(inbox::Health::well, start, 0);
  EXPECT_EQ(gate.view().running, 0U);
  EXPECT_EQ(gate.enter(8, start), 0U) << "twelve of a rate of eight have begun";
  EXPECT_EQ(gate.enter(8, start + Millis{1'000}), 4U);
}

}  // namespace
}  // namespace semel::gateway
