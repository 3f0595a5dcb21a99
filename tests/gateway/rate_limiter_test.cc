// How many deliveries an endpoint takes: from everybody, from each address, and with how large a table.
#include "gateway/rate_limiter.h"

#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "reading/units.h"
#include "webhook/webhook.h"
#include <semel/clock.h>

namespace semel::gateway {
namespace {

constexpr int addresses_max = 10'000;  // that are remembered
constexpr Millis hour{3'600'000};
const Time start{Millis{1'000'000}};

std::string address(int number) {
  return "10.0." + std::to_string(number / 256) + "." + std::to_string(number % 256);
}

class RateLimiterTest : public testing::Test {
 protected:
  std::optional<Millis> take(std::string_view from, Time now = start) { return limiter_.take(webhook_, from, now); }

  webhook::Webhook webhook_;
  RateLimiter limiter_;
};

// Without a limit nobody waits.
TEST_F(RateLimiterTest, LetsEverythingThroughWithoutALimit) {
  for (int i = 0; i < 1'000; ++i) EXPECT_FALSE(take("a"));
}

// As many as the limit says, whoever sends them; then the time until the next one, and after that time there is one.
TEST_F(RateLimiterTest, LimitsEverybodyTogether) {
  webhook_.rate_limit = reading::Rate{.count = 4, .per = Millis{1'000}};
  for (const char* from : {"a", "b", "c", "a"}) EXPECT_FALSE(take(from)) << from;
  const auto wait = take("d");
  ASSERT_TRUE(wait);
  EXPECT_GT(*wait, Millis{250});
  EXPECT_LE(*wait, Millis{252});
  EXPECT_TRUE(take("d", start + Millis{249}));
  EXPECT_FALSE(take("d", start + *wait));
  EXPECT_TRUE(take("d", start + *wait));
}

// What is not used is saved up, but never more than one period's worth.
TEST_F(RateLimiterTest, RefillsByTheClockUpToItsCount) {
  webhook_.rate_limit = reading::Rate{.count = 3, .per = Millis{1'000}};
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(take("a"));
  const Time much_later = start + hour;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(take("a", much_later));
  EXPECT_TRUE(take("a", much_later));
}

// A clock that another thread read a little earlier gives nothing back and takes nothing away.
TEST_F(RateLimiterTest, BearsATimeThatLiesBack) {
  webhook_.rate_limit = reading::Rate{.count = 1, .per = Millis{1'000}};
  EXPECT_FALSE(take("a", start + Millis{500}));
  EXPECT_TRUE(take("a", start));
  EXPECT_FALSE(take("a", start + Millis{1'501}));
}

// Each address has its own; one that sends too much waits alone.
TEST_F(RateLimiterTest, LimitsEachAddressByItself) {
  webhook_.rate_limit_per_ip = reading::Rate{.count = 2, .per = Millis{1'000}};
  EXPECT_FALSE(take("a"));
  EXPECT_FALSE(take("a"));
  EXPECT_TRUE(take("a"));
  EXPECT_FALSE(take("b"));
  EXPECT_FALSE(take("a", start + Millis{501}));
}

// With both limits, what an address is refused is not taken from what there is for all.
TEST_F(RateLimiterTest, AnAddressCannotUseUpWhatIsForTheOthers) {
  webhook_.rate_limit = reading::Rate{.count = 3, .per = hour};
  webhook_.rate_limit_per_ip = reading::Rate{.count = 1, .per = hour};
  EXPECT_FALSE(take("noisy"));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(take("noisy"));
  EXPECT_FALSE(take("b"));
  EXPECT_FALSE(take("c"));
  EXPECT_TRUE(take("d"));
}

// The table is bounded. Addresses that have been quiet for a period are forgotten first: it makes no difference to
// them.
TEST_F(RateLimiterTest, ForgetsQuietAddressesFirst) {
  webhook_.rate_limit_per_ip = reading::Rate{.count = 1, .per = Millis{1'000}};
  for (int i = 0; i < addresses_max - 1; ++i) EXPECT_FALSE(take(address(i)));
  const Time later = start + Millis{1'000};
  EXPECT_FALSE(take("busy", later));
  EXPECT_FALSE(take("one too many", later));
  EXPECT_TRUE(take("busy", later));
  EXPECT_FALSE(take(address(0), later));
}

// If none has been quiet, all are forgotten, and the limit for all of them together still holds.
TEST_F(RateLimiterTest, HoldsTheLimitForAllWhenAddressesAreForgotten) {
  webhook_.rate_limit = reading::Rate{.count = addresses_max + 2, .per = hour};
  webhook_.rate_limit_per_ip = reading::Rate{.count = 1, .per = hour};
  for (int i = 0; i < addresses_max; ++i) EXPECT_FALSE(take(address(i)));
  EXPECT_TRUE(take(address(1)));
  EXPECT_FALSE(take("one too many"));
  EXPECT_FALSE(take(address(1)));
  EXPECT_TRUE(take(address(2)));
}

// A webhook that keeps its path and its provider over a reload keeps what it has used up; another one starts anew.
TEST(RateLimitersTest, AreKeptByPathAndProvider) {
  RateLimiters limiters;
  RateLimiter& first = limiters.of("/a", "stripe");
  for (int i = 0; i < 1'000; ++i) limiters.of("/" + std::to_string(i), "stripe");
  EXPECT_EQ(&limiters.of("/a", "stripe"), &first);
  EXPECT_NE(&limiters.of("/a", "github"), &first);
  EXPECT_NE(&limiters.of("/b", "stripe"), &first);
}

}  // namespace
}  // namespace semel::gateway
