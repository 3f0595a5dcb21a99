#include "cli/hammer/latencies.h"

#include <chrono>

#include <gtest/gtest.h>

namespace semel::cli {
namespace {

using std::chrono::milliseconds;

// Goal: percentiles are values that were measured, by nearest rank.
TEST(Latencies, GivesPercentilesByNearestRank) {
  Latencies latencies;
  for (int i = 100; i >= 1; --i) latencies.add(milliseconds(i));
  const Latencies::Summary summary = latencies.summary();
  EXPECT_DOUBLE_EQ(summary.p50, 50);
  EXPECT_DOUBLE_EQ(summary.p90, 90);
  EXPECT_DOUBLE_EQ(summary.p99, 99);
  EXPECT_DOUBLE_EQ(summary.max, 100);
}

// Goal: one slow answer among few shows in the tail, not in the middle.
TEST(Latencies, ShowsTheSlowestOfAFew) {
  Latencies latencies;
  for (const int time : {1, 1, 1, 2'000}) latencies.add(milliseconds(time));
  EXPECT_DOUBLE_EQ(latencies.summary().p50, 1);
  EXPECT_DOUBLE_EQ(latencies.summary().p90, 2'000);
}

// Goal: one value is every percentile, and none is zero.
TEST(Latencies, CopesWithOneValueAndWithNone) {
  Latencies latencies;
  EXPECT_DOUBLE_EQ(latencies.summary().max, 0);
  latencies.add(milliseconds(3));
  EXPECT_DOUBLE_EQ(latencies.summary().p50, 3);
  EXPECT_DOUBLE_EQ(latencies.summary().p99, 3);
}

}  // namespace
}  // namespace semel::cli
