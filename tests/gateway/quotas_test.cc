// How much a scope may use: what counts, for how long, and who is told to wait.
#include "gateway/quotas.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "config/config.h"
#include <semel/clock.h>

namespace semel::gateway {
namespace {

constexpr ScopeDigest alice{1};
constexpr ScopeDigest bob{2};
constexpr Millis ttl{64'000};  // so that a slot is a second
const Time start{Millis{1'000'000}};

class QuotasTest : public testing::Test {
 protected:
  std::optional<Quotas::Refusal> admit(const ScopeDigest& scope, Time now) {
    return quotas_.admit(scope, limits_, now, now + ttl, ttl);
  }

  config::LimitsConfig limits_;
  Quotas quotas_;
};

// Without limits nobody is refused.
TEST_F(QuotasTest, LetsEverybodyInWithoutLimits) {
  for (int i = 0; i < 1'000; ++i) EXPECT_FALSE(admit(alice, start));
}

// As many keys as the limit says, for each scope by itself.
TEST_F(QuotasTest, CountsLiveKeysOfEachScope) {
  limits_.keys_per_scope = 3;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(admit(alice, start));
  const auto refused = admit(alice, start);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->problem, ProblemType::quota_exceeded);
  EXPECT_FALSE(admit(bob, start));
}

// A key counts until it has expired, and Retry-After says when that is.
TEST_F(QuotasTest, ForgetsKeysWhenTheyExpire) {
  limits_.keys_per_scope = 1;
  EXPECT_FALSE(admit(alice, start));
  const Time before = start + ttl - Millis{1};
  const auto refused = admit(alice, before);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->retry_after, Millis{1'000});
  EXPECT_FALSE(admit(alice, start + ttl + Millis{1'000}));
}

// Memory is bounded: beyond so many scopes a new one is not counted, until others have expired. Those that are counted
// stay so.
TEST_F(QuotasTest, CountsABoundedNumberOfScopes) {
  limits_.keys_per_scope = 1;
  const auto numbered = [](std::uint32_t number) {
    ScopeDigest scope{};
    for (std::size_t i = 0; i < 4; ++i) scope.at(i) = static_cast<std::uint8_t>(number >> (8 * i));
    return scope;
  };
  constexpr std::uint32_t counted = 262'144;
  for (std::uint32_t i = 0; i < counted; ++i) ASSERT_FALSE(admit(numbered(i), start));
  EXPECT_TRUE(admit(numbered(0), start));
  EXPECT_TRUE(admit(numbered(counted - 1), start));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(admit(numbered(counted + 1), start));
  const Time later = start + 2 * ttl;
  EXPECT_FALSE(admit(numbered(counted + 1), later));
  EXPECT_TRUE(admit(numbered(counted + 1), later));
}

// A key that was released is free, so it counts no more.
TEST_F(QuotasTest, GivesBackWhatWasReleased) {
  limits_.keys_per_scope = 1;
  EXPECT_FALSE(admit(alice, start));
  quotas_.give_back(alice, start + ttl, ttl);
  EXPECT_FALSE(admit(alice, start));
  EXPECT_TRUE(admit(alice, start));
}

// Bytes count once they are kept; the key that goes over the limit is still kept, the next one is refused.
TEST_F(QuotasTest, CountsStoredBytes) {
  limits_.stored_bytes_per_scope = 100;
  EXPECT_FALSE(admit(alice, start));
  quotas_.keep(alice, start + ttl, ttl, 60);
  EXPECT_FALSE(admit(alice, start));
  quotas_.keep(alice, start + ttl, ttl, 60);
  const auto refused = admit(alice, start);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->problem, ProblemType::quota_exceeded);
  EXPECT_FALSE(admit(alice, start + ttl + Millis{1'000}));
}

// New keys in a span of time; a refusal does not count.
TEST_F(QuotasTest, LimitsTheRateOfNewKeys) {
  limits_.claims_per_scope = reading::Rate{.count = 2, .per = Millis{1'000}};
  EXPECT_FALSE(admit(alice, start));
  EXPECT_FALSE(admit(alice, start));
  const auto refused = admit(alice, start);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->problem, ProblemType::rate_limited);
  EXPECT_GE(refused->retry_after, Millis{1'000});
  EXPECT_FALSE(admit(bob, start));
  EXPECT_FALSE(admit(alice, start + Millis{501}));
}

// Asking is not taking: refusal() says what admit() would, and counts nothing.
TEST_F(QuotasTest, SaysWhatItWouldSayWithoutCounting) {
  limits_.keys_per_scope = 2;
  limits_.claims_per_scope = reading::Rate{.count = 1, .per = Millis{1'000}};
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(quotas_.refusal(alice, limits_, start));
  EXPECT_FALSE(admit(alice, start));
  const auto hurried = quotas_.refusal(alice, limits_, start);
  ASSERT_TRUE(hurried);
  EXPECT_EQ(hurried->problem, ProblemType::rate_limited);
  const Time later = start + Millis{1'001};
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(quotas_.refusal(alice, limits_, later));
  EXPECT_FALSE(admit(alice, later));
  const auto full = quotas_.refusal(alice, limits_, later + Millis{1'001});
  ASSERT_TRUE(full);
  EXPECT_EQ(full->problem, ProblemType::quota_exceeded);
  EXPECT_FALSE(quotas_.refusal(bob, limits_, later));
}

// What was released before there was a limit is not counted below nothing.
TEST_F(QuotasTest, TakesALimitThatComesLater) {
  quotas_.give_back(alice, start + ttl, ttl);
  limits_.keys_per_scope = 1;
  EXPECT_FALSE(admit(alice, start));
  quotas_.give_back(alice, start + ttl + ttl, ttl);
  EXPECT_TRUE(admit(alice, start));
}

}  // namespace
}  // namespace semel::gateway
