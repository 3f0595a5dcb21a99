// A heart beats at its pace, for as long as it lives, and ends at once.

#include "store/postgres/heartbeat.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include <semel/async.h>
#include <semel/clock.h>

namespace semel::test {
namespace {

using store::postgres::Heartbeat;

Task<void> count_one(std::atomic<int>* beats) {
  beats->fetch_add(1);
  co_return;
}

// Each beat is followed by a pause, also the second one. A busy machine makes beats fewer, never more.
TEST(Heartbeat, RestsAfterEachBeat) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  std::atomic<int> beats = 0;
  {
    Heartbeat heart(*clock, Millis{100}, [&] { return count_one(&beats); });
    heart.start();
    while (beats < 3) std::this_thread::sleep_for(Millis{5});
    const auto begun = std::chrono::steady_clock::now();
    const int before = beats;
    while (beats < before + 4) std::this_thread::sleep_for(Millis{5});
    EXPECT_GE(std::chrono::steady_clock::now() - begun, Millis{300});
  }
  const int last = beats;
  std::this_thread::sleep_for(Millis{250});
  EXPECT_EQ(beats, last) << "it has ended";
}

// Whoever ends it does not wait for its pause to be over.
TEST(Heartbeat, EndsAtOnce) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  std::atomic<int> beats = 0;
  const auto begun = std::chrono::steady_clock::now();
  {
    Heartbeat heart(*clock, Millis{60'000}, [&] { return count_one(&beats); });
    heart.start();
    while (beats < 1) std::this_thread::sleep_for(Millis{5});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
  const Heartbeat never_started(*clock, Millis{100}, [&] { return count_one(&beats); });
}

}  // namespace
}  // namespace semel::test
