// What may be done how often in a minute, where strangers choose the names.
#include "gateway/budget.h"

#include <cstddef>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/virtual_clock.h"
#include <semel/clock.h>

namespace semel::gateway {
namespace {

constexpr Millis minute{60'000};

Share of(std::string account, std::size_t limit) {
  return {.account = std::move(account), .limit = limit};
}

// Each account has its limit, and its minute begins with its first payment.
TEST(Budget, HasLimitsForTheWholeAndForEachPart) {
  test::VirtualClock clock;
  Budget budget(clock);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(budget.pay(of("w", 3), of("a", 2)), i < 2) << i;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(budget.pay(of("w", 3), of("b", 2)), i < 1) << i;
  clock.advance(minute);
  EXPECT_TRUE(budget.pay(of("w", 3), of("a", 2)));
}

// Who is refused for the whole has paid nothing of the part, and the other way round.
TEST(Budget, PaysBothOrNeither) {
  test::VirtualClock clock;
  Budget budget(clock);
  EXPECT_TRUE(budget.pay(of("w", 1), of("a", 1)));
  clock.advance(minute / 2);
  EXPECT_FALSE(budget.pay(of("w", 1), of("b", 1)));
  clock.advance(minute / 2);
  EXPECT_TRUE(budget.pay(of("w", 1), of("b", 1)));
  EXPECT_FALSE(budget.pay(of("other", 2), of("b", 1)));
  EXPECT_TRUE(budget.pay(of("other", 2), of("c", 1)));
  EXPECT_TRUE(budget.pay(of("other", 2), of("d", 1)));
}

// Names that are made up cost no memory once the whole is spent. AWS SNS has a host for each region, and a forged
// delivery may name any.
TEST(Budget, RemembersNoMoreNamesThanWerePaidFor) {
  test::VirtualClock clock;
  Budget budget(clock);
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(budget.pay(of("w", 30), of("host" + std::to_string(i), 10)), i < 30);
  EXPECT_EQ(budget.size(), 31U);
  clock.advance(minute);
  EXPECT_TRUE(budget.pay(of("w", 30), of("host", 10)));
  EXPECT_EQ(budget.size(), 2U);
}

}  // namespace
}  // namespace semel::gateway
