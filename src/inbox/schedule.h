// When an event is tried again.
//
//   attempt   1    2    3    4     5    6    7     8 …
//   after     0s   5s   5m   30m   2h   5h   10h   10h …          until give_up_after
//
// Each wait varies by a fifth, so that what failed together does not come back together. A Retry-After is a floor: the
// wait may be longer than the handler asked for, never shorter, however the dice fall.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <semel/clock.h>

namespace semel::inbox {

struct RetrySchedule {
  std::vector<Millis> steps{Millis{0},         Millis{5'000},      Millis{300'000},   Millis{1'800'000},
                            Millis{7'200'000}, Millis{18'000'000}, Millis{36'000'000}};
  Millis give_up_after{3 * 86'400'000LL};
  Millis retry_after_max{7'200'000};

  // How long all steps take, one after the other.
  [[nodiscard]] Millis length() const;
};

// What came of an attempt, as far as the next one depends on it.
struct FailedAttempt {
  std::uint32_t tries = 1;              // attempts that have failed by now, since the event was accepted or sent again
  Millis age{0};                        // since then
  std::optional<Millis> retry_after{};  // that the handler asked for
  bool hopeless = false;                // of a kind that a minute does not mend, such as 404: the third step at least
};

// How long to wait for the next attempt. `chance` is a random number in [0, 1). None: it is time to give up.
std::optional<Millis> next_wait(const RetrySchedule& schedule, const FailedAttempt& failure, double chance);

// The value of a Retry-After field: seconds, or a date (RFC 9110 §5.6.7, as all senders write it now). None if it is
// neither. A date that has passed is zero.
std::optional<Millis> parse_retry_after(std::string_view value, Time now);

}  // namespace semel::inbox
