#include "http/pace.h"

#include <gtest/gtest.h>

#include <semel/clock.h>

namespace semel::http {
namespace {

// A byte now and then is waited for once, not for ever.
TEST(Pace, RunsOutWhenHardlyAnythingMoves) {
  Pace pace(Millis{30'000}, 256);
  EXPECT_EQ(pace.left(), Millis{30'000});
  pace.moved(1, Millis{29'000});
  EXPECT_EQ(pace.left(), Millis{1'003});
  pace.moved(1, Millis{1'000});
  EXPECT_LT(pace.left(), Millis{10});
}

// Whoever keeps up has its whole grace at any time, however small the pieces are.
TEST(Pace, StaysFullWhenThePeerKeepsUp) {
  Pace pace(Millis{1'000}, 4'096);
  for (int i = 0; i < 10'000; ++i) pace.moved(5, Millis{1});
  EXPECT_EQ(pace.left(), Millis{1'000});
}

// What was lost by a pause is earned back by bytes, and no more than that.
TEST(Pace, IsEarnedBackUpToItsStart) {
  Pace pace(Millis{10'000}, 100);
  pace.moved(0, Millis{9'000});
  EXPECT_EQ(pace.left(), Millis{1'000});
  pace.moved(200, Millis{0});
  EXPECT_EQ(pace.left(), Millis{3'000});
  pace.moved(1'000'000, Millis{0});
  EXPECT_EQ(pace.left(), Millis{10'000});
}

// Without a rate each wait stands for itself.
TEST(Pace, IsOnlyPatienceWithoutARate) {
  Pace pace(Millis{500}, 0);
  pace.moved(0, Millis{400});
  pace.moved(1, Millis{400});
  EXPECT_EQ(pace.left(), Millis{500});
}

}  // namespace
}  // namespace semel::http
