#include "inbox/schedule.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace semel::inbox {
namespace {

constexpr Time now{Millis{1'700'000'000'000}};

// Each wait is the step of its attempt, a fifth more or less; the last step is repeated.
TEST(InboxSchedule, FollowsItsStepsWithAFifthOfJitter) {
  const RetrySchedule schedule;
  for (std::uint32_t tries = 1; tries < 12; ++tries) {
    const Millis step = schedule.steps[std::min<std::size_t>(tries, schedule.steps.size() - 1)];
    const FailedAttempt failure{.tries = tries};
    EXPECT_EQ(next_wait(schedule, failure, 0.0), step * 4 / 5) << tries;
    EXPECT_EQ(next_wait(schedule, failure, 0.5), step) << tries;
    EXPECT_LE(next_wait(schedule, failure, 0.999999).value(), step * 6 / 5) << tries;
  }
}

// A Retry-After is a floor, however the dice fall; but it is no longer than retry_after_max.
TEST(InboxSchedule, NeverComesBackBeforeARetryAfter) {
  const RetrySchedule schedule;
  for (const double chance : {0.0, 0.1, 0.5, 0.9, 0.999999}) {
    for (const Millis asked : {Millis{0}, Millis{1'000}, Millis{4'999}, Millis{60'000}, Millis{7'200'000}}) {
      const FailedAttempt failure{.tries = 1, .retry_after = asked};
      EXPECT_GE(next_wait(schedule, failure, chance).value(), asked) << chance;
    }
    const FailedAttempt greedy{.tries = 1, .retry_after = Millis{86'400'000}};
    EXPECT_LE(next_wait(schedule, greedy, chance).value(), schedule.retry_after_max * 6 / 5);
    EXPECT_GE(next_wait(schedule, greedy, chance).value(), schedule.retry_after_max);
  }
}

// An attempt that would come after give_up_after does not come.
TEST(InboxSchedule, GivesUpWhenTheNextAttemptWouldBeTooLate) {
  RetrySchedule schedule;
  schedule.give_up_after = Millis{10'000};
  EXPECT_EQ(next_wait(schedule, {.tries = 1, .age = Millis{5'000}}, 0.5), Millis{5'000});
  EXPECT_EQ(next_wait(schedule, {.tries = 1, .age = Millis{5'001}}, 0.5), std::nullopt);
  const FailedAttempt told_to_wait{.tries = 1, .retry_after = Millis{10'001}};
  EXPECT_EQ(next_wait(schedule, told_to_wait, 0.0), std::nullopt);
}

// What a minute does not mend is not tried every few seconds.
TEST(InboxSchedule, TakesItsTimeWithHopelessAnswers) {
  const RetrySchedule schedule;
  EXPECT_EQ(next_wait(schedule, {.tries = 1, .hopeless = true}, 0.5), Millis{300'000});
  EXPECT_EQ(next_wait(schedule, {.tries = 4, .hopeless = true}, 0.5), Millis{7'200'000});
}

// Seconds and dates are read; anything else is no Retry-After.
TEST(InboxSchedule, ReadsRetryAfter) {
  EXPECT_EQ(parse_retry_after("120", now), Millis{120'000});
  EXPECT_EQ(parse_retry_after(" 0 ", now), Millis{0});
  EXPECT_EQ(parse_retry_after("Tue, 14 Nov 2023 22:14:20 GMT", now), Millis{60'000});
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), Millis{0});
  EXPECT_GT(parse_retry_after("99999999999999999999999", now).value(), Millis{86'400'000});
  for (const char* bad : {"", "soon", "-1", "1.5", "12 s", "Sun, 99 Nov 1994 08:49:37 GMT", "06 Nov 1994"}) {
    EXPECT_EQ(parse_retry_after(bad, now), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace semel::inbox
