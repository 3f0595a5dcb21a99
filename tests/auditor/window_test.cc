// Which piece of time is looked at next.
#include "auditor/window.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "config/audit.h"
#include <semel/clock.h>

namespace semel::auditor {
namespace {

constexpr Millis minute{60'000};
constexpr Millis hour{60 * minute};
constexpr Time now{1'000 * hour};

config::AuditConfig defaults() {
  return {};
}

// The first window is a wide one: nothing is known yet.
TEST(AuditWindow, BeginsWithTheOverlap) {
  const AuditWindow window = next_window(defaults(), {}, now);
  EXPECT_TRUE(window.wide);
  EXPECT_EQ(window.to, now);
  EXPECT_EQ(window.settled, now - 2 * minute);
  EXPECT_EQ(window.from, now - 2 * minute - hour);
}

// As long as wide windows are cheap, all are wide, and every pair of effects within the overlap is seen at once.
TEST(AuditWindow, IsWideWhileThatIsCheap) {
  const AuditProgress progress{.judged_to = now - 3 * minute, .wide_at = now - minute, .wide_took = Millis{600}};
  EXPECT_TRUE(next_window(defaults(), progress, now).wide);
  EXPECT_EQ(next_window(defaults(), progress, now).from, now - 3 * minute - hour);
}

// A wide window is not looked at more often than a hundredth of the time allows.
TEST(AuditWindow, IsNearWhileAWideOneWouldCostTooMuch) {
  const AuditProgress progress{.judged_to = now - 3 * minute, .wide_at = now - minute, .wide_took = Millis{601}};
  const AuditWindow near = next_window(defaults(), progress, now);
  EXPECT_FALSE(near.wide);
  EXPECT_EQ(near.from, now - 3 * minute - minute - 2 * minute);
  EXPECT_EQ(near.to, now);
  EXPECT_TRUE(next_window(defaults(), progress, now + minute).wide) << "61 s after the last";
}

// A window that failed is part of the next: that one begins where the last good one ended.
TEST(AuditWindow, GoesBackToWhereTheLastOneEnded) {
  AuditProgress progress{.judged_to = now - 10 * hour, .wide_at = now - minute, .wide_took = minute};
  EXPECT_LE(next_window(defaults(), progress, now).from, now - 10 * hour);
  progress.wide_took = Millis{0};
  EXPECT_EQ(next_window(defaults(), progress, now).from, now - 11 * hour);
}

// A clock that was set back does not make the window begin in the future.
TEST(AuditWindow, BearsAClockThatWasSetBack) {
  const AuditProgress progress{.judged_to = now + hour, .wide_at = now + hour, .wide_took = Millis{0}};
  const AuditWindow window = next_window(defaults(), progress, now);
  EXPECT_LT(window.from, window.settled);
  EXPECT_LT(window.settled, window.to);
}

// Keys are judged as missing only where all effects within `settle` of their claim are in the window.
TEST(AuditWindow, HoldsTheEffectsOfTheKeysThatItJudges) {
  for (const Millis took : {Millis{0}, minute}) {
    const AuditProgress progress{.judged_to = now - 3 * minute, .wide_at = now - minute, .wide_took = took};
    const AuditWindow window = next_window(defaults(), progress, now);
    EXPECT_LE(window.from + defaults().settle, window.missing_from);
    EXPECT_LE(window.missing_from, now - 3 * minute) << "none between two windows is left out";
  }
}

// The windows of an audit with the default times, one after the other, on a clock of our own. Those of `fails` fail
// when the statement has run into its time limit.
class WindowsOverTime {
 public:
  WindowsOverTime(Millis takes, int fails_every) : takes_(takes), fails_every_(fails_every) {}

  // When the key is reported whose effects have these times, and are committed together at `commit`.
  Time reported(Time first, Time second, Time commit) {
    for (;;) {
      while (!is_window_due(audit_, begun_, clock_)) clock_ += nap_before_window(audit_, false);
      begun_ = clock_;
      const AuditWindow window = next_window(audit_, progress_, begun_);
      if (fails_every_ > 0 && ++count_ % fails_every_ == 0) {
        clock_ += audit_.statement_timeout + nap_before_window(audit_, true);
        continue;
      }
      const bool seen =
          begun_ >= commit && window.from <= std::min(first, second) && std::max(first, second) < window.to;
      clock_ += takes_;
      progress_.judged_to = window.settled;
      if (window.wide) progress_.wide_at = window.to;
      if (window.wide) progress_.wide_took = takes_;
      const Time ended = clock_;
      clock_ += nap_before_window(audit_, true);
      if (seen) return ended;
    }
  }
  [[nodiscard]] Time clock() const { return clock_; }
  [[nodiscard]] const config::AuditConfig& audit() const { return audit_; }

 private:
  const config::AuditConfig audit_ = defaults();
  const Millis takes_;
  const int fails_every_;
  int count_ = 0;
  Time clock_ = now;
  Time begun_{};
  AuditProgress progress_;
};

// A duplicate is reported within three minutes of its commit, whenever that is: with windows that take the ten seconds
// of a million effects, of which every third fails; rows may be older than the commit by a long transaction, and the
// first effect older than the second as far as a near window promises.
TEST(AuditWindow, ReportsADuplicateWithinThreeMinutesOfItsCommit) {
  struct Case {
    Millis takes;
    int fails_every;
    Millis bound;
  };
  for (const auto& [takes, fails_every, bound] :
       {Case{.takes = Millis{100}, .fails_every = 0, .bound = 66 * Millis{1'000}},
        Case{.takes = Millis{10'000}, .fails_every = 0, .bound = 80 * Millis{1'000}},
        Case{.takes = Millis{10'000}, .fails_every = 3, .bound = 3 * minute}}) {
    Millis longest{0};
    WindowsOverTime windows(takes, fails_every);
    const Millis apart = windows.audit().settle + windows.audit().every;
    for (int i = 0; i < 2'000; ++i) {
      const Time commit = windows.clock() + Millis{(i * 977) % 61'000};
      const Time second = commit - Millis{(i * 31) % 1'000};
      const Time first = std::max(second - Millis{(i * 7'919) % apart.count()}, commit - apart);
      longest = std::max(longest, windows.reported(first, second, commit) - commit);
    }
    EXPECT_LE(longest, bound) << longest.count() << " ms with windows of " << takes.count() << " ms";
    EXPECT_GE(longest, windows.audit().every) << "the simulation waits for windows";
    RecordProperty("longest_ms_" + std::to_string(takes.count()) + "_" + std::to_string(fails_every),
                   std::to_string(longest.count()));
  }
}

}  // namespace
}  // namespace semel::auditor
