#include "inbox/breaker.h"

#include <gtest/gtest.h>

namespace semel::inbox {
namespace {

constexpr Time start{Millis{1'700'000'000'000}};

void run(Breaker& breaker, Health health, Time at) {
  breaker.began(at);
  breaker.ended(health, at, 1.0);
}

// Ten failures in a row open it; nothing may run then but one probe when its wait is over.
TEST(InboxBreaker, OpensAfterARowOfFailures) {
  Breaker breaker{BreakerRules{}};
  for (int i = 0; i < 9; ++i) run(breaker, Health::failing, start);
  EXPECT_EQ(breaker.allowed(64, start), 64U);
  run(breaker, Health::failing, start);
  EXPECT_EQ(breaker.state(), Breaker::State::open);
  EXPECT_EQ(breaker.allowed(64, start), 0U);
  EXPECT_EQ(breaker.allowed(64, breaker.probe_at() - Millis{1}), 0U);
  EXPECT_EQ(breaker.allowed(64, breaker.probe_at()), 1U);
}

// Half of twenty attempts within the window open it; nineteen attempts say nothing, and old ones do not count.
TEST(InboxBreaker, OpensWhenHalfOfTheWindowFails) {
  Breaker breaker{BreakerRules{}};
  for (int i = 0; i < 19; ++i) run(breaker, i % 2 == 0 ? Health::well : Health::failing, start);
  EXPECT_EQ(breaker.state(), Breaker::State::closed);
  run(breaker, Health::failing, start + Millis{60'000});
  EXPECT_EQ(breaker.state(), Breaker::State::closed) << "the others are too old";
  for (int i = 0; i < 20; ++i) run(breaker, i % 2 == 0 ? Health::well : Health::failing, start + Millis{61'000});
  EXPECT_EQ(breaker.state(), Breaker::State::open);
}

// The verdict of a handler on single events never opens it.
TEST(InboxBreaker, IsNotOpenedByVerdicts) {
  Breaker breaker{BreakerRules{}};
  for (int i = 0; i < 1'000; ++i) run(breaker, Health::well, start);
  EXPECT_EQ(breaker.allowed(64, start), 64U);
}

// A probe that fails makes the next wait longer, up to probe_max; one that succeeds closes it.
TEST(InboxBreaker, WaitsLongerAfterEachFailedProbe) {
  Breaker breaker{BreakerRules{}};
  for (int i = 0; i < 10; ++i) run(breaker, Health::failing, start);
  Millis last = breaker.probe_at() - start;
  for (int i = 0; i < 10; ++i) {
    const Time at = breaker.probe_at();
    run(breaker, Health::failing, at);
    const Millis wait = breaker.probe_at() - at;
    EXPECT_GE(wait, last);
    EXPECT_LE(wait, Millis{60'000});
    last = wait;
  }
  EXPECT_EQ(last, Millis{60'000});
  run(breaker, Health::well, breaker.probe_at());
  EXPECT_EQ(breaker.state(), Breaker::State::closed);
}

// After a good probe one attempt may run, then two, then four: the destination is not buried when it comes back.
TEST(InboxBreaker, StartsSlowlyAfterwards) {
  Breaker breaker{BreakerRules{}};
  for (int i = 0; i < 10; ++i) run(breaker, Health::failing, start);
  Time at = breaker.probe_at();
  run(breaker, Health::well, at);
  for (const std::uint32_t expected : {2U, 4U, 8U, 16U, 32U, 64U}) {
    EXPECT_EQ(breaker.allowed(64, at), expected);
    for (std::uint32_t i = 0; i < expected; ++i) run(breaker, Health::well, at);
  }
  EXPECT_EQ(breaker.allowed(1'000, at), 1'000U) << "it has recovered";
}

// A failure while it recovers opens it at once.
TEST(InboxBreaker, OpensAgainAtTheFirstFailureOfASlowStart) {
  Breaker breaker{BreakerRules{}};
  for (int i = 0; i < 10; ++i) run(breaker, Health::failing, start);
  const Time at = breaker.probe_at();
  run(breaker, Health::well, at);
  run(breaker, Health::failing, at);
  EXPECT_EQ(breaker.state(), Breaker::State::open);
}

// A probe that was given back has told nothing: another may go.
TEST(InboxBreaker, LetsAnotherProbeGoWhenOneWasGivenBack) {
  Breaker breaker{BreakerRules{}};
  for (int i = 0; i < 10; ++i) run(breaker, Health::failing, start);
  const Time at = breaker.probe_at();
  breaker.began(at);
  EXPECT_EQ(breaker.state(), Breaker::State::probing);
  breaker.withdrew();
  EXPECT_EQ(breaker.allowed(64, at), 1U);
}

}  // namespace
}  // namespace semel::inbox
