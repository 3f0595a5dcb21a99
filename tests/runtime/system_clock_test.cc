// The machine's clock: the wall time is the machine's own, whatever now() was when the clock was made.
#include <chrono>

#include <gtest/gtest.h>

#include <semel/clock.h>

namespace semel {
namespace {

// Both begin at the same time; the wall time is read anew each time.
TEST(SystemClock, HasTheMachinesWallTime) {
  const auto clock = make_system_clock();
  const auto machine = std::chrono::system_clock::now();
  EXPECT_LT(std::chrono::abs(clock->wall() - machine), std::chrono::seconds(2));
  EXPECT_LT(std::chrono::abs(clock->now() - machine), std::chrono::seconds(2));
}

}  // namespace
}  // namespace semel
