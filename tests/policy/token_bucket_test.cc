#include "policy/token_bucket.h"

#include <gtest/gtest.h>

namespace semel::policy {
namespace {

constexpr reading::Rate ten_a_second{.count = 10, .per = Millis{1'000}};
constexpr Time start{Millis{1'700'000'000'000}};

// A burst of what the rate gives in one period, then one token each time one has grown.
TEST(TokenBuckets, GiveBurstsAndThenTheRate) {
  TokenBucket bucket;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bucket.take(ten_a_second, start), std::nullopt) << i;
  const auto wait = bucket.take(ten_a_second, start);
  ASSERT_TRUE(wait);
  EXPECT_GE(*wait, Millis{100});
  EXPECT_LE(*wait, Millis{102});
  EXPECT_TRUE(bucket.take(ten_a_second, start + Millis{50}));
  EXPECT_EQ(bucket.take(ten_a_second, start + *wait), std::nullopt);
  EXPECT_TRUE(bucket.take(ten_a_second, start + *wait));
}

// However long it is left alone, it holds no more than a burst, and a clock that stands still gives nothing.
TEST(TokenBuckets, HoldNoMoreThanABurst) {
  TokenBucket bucket;
  EXPECT_EQ(bucket.take(ten_a_second, start), std::nullopt);
  EXPECT_FALSE(bucket.is_full(ten_a_second, start));
  const Time later = start + Millis{3'600'000};
  EXPECT_TRUE(bucket.is_full(ten_a_second, later));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bucket.take(ten_a_second, later), std::nullopt) << i;
  EXPECT_TRUE(bucket.take(ten_a_second, later));
  EXPECT_TRUE(bucket.take(ten_a_second, start));
}

// A rate below one a second is kept, too.
TEST(TokenBuckets, KeepSlowRates) {
  constexpr reading::Rate one_an_hour{.count = 1, .per = Millis{3'600'000}};
  TokenBucket bucket;
  EXPECT_EQ(bucket.take(one_an_hour, start), std::nullopt);
  EXPECT_GT(bucket.take(one_an_hour, start).value(), Millis{3'599'000});
  EXPECT_EQ(bucket.take(one_an_hour, start + Millis{3'600'001}), std::nullopt);
}

}  // namespace
}  // namespace semel::policy
