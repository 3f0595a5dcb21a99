// Who sends what is not believed: by address and reason, in bounded memory.
#include "telemetry/strangers.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "webhook/signatures.h"
#include <semel/clock.h>

namespace semel::telemetry {
namespace {

using webhook::SignatureFault;

constexpr Time at(int seconds) {
  return Time{Millis{1'000 * seconds}};
}

// Each pair of address and reason is counted by itself, and the most come first.
TEST(Strangers, CountsByAddressAndReason) {
  Strangers strangers;
  strangers.add("10.0.0.1", SignatureFault::stale, at(1));
  for (int i = 2; i < 5; ++i) strangers.add("10.0.0.2", SignatureFault::mismatch, at(i));
  strangers.add("10.0.0.2", SignatureFault::missing, at(9));
  const Strangers::View view = strangers.view();
  ASSERT_EQ(view.strangers.size(), 3U);
  EXPECT_FALSE(view.partial);
  const Strangers::Stranger& first = view.strangers.front();
  EXPECT_EQ(first.address, "10.0.0.2");
  EXPECT_EQ(first.fault, SignatureFault::mismatch);
  EXPECT_EQ(first.count, 3U);
  EXPECT_EQ(first.first, at(2));
  EXPECT_EQ(first.last, at(4));
}

// An attacker with many addresses drives out neither the one who sends the most, nor the process out of memory.
TEST(Strangers, KeepsTheHeaviestOfMany) {
  Strangers strangers;
  for (int i = 0; i < 200; ++i) strangers.add("10.0.0.1", SignatureFault::mismatch, at(i));
  for (int i = 0; i < 5'000; ++i) strangers.add("fe80::" + std::to_string(i), SignatureFault::missing, at(i));
  const Strangers::View view = strangers.view();
  EXPECT_EQ(view.strangers.size(), Strangers::places);
  EXPECT_TRUE(view.partial);
  EXPECT_EQ(view.strangers.front().address, "10.0.0.1");
  EXPECT_EQ(view.strangers.front().count, 200U);
}

}  // namespace
}  // namespace semel::telemetry
