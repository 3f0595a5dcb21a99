// The last hour: what is kept of it, and what two samples tell.
#include "telemetry/recent.h"

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "telemetry/histogram.h"
#include "telemetry/metrics.h"
#include "telemetry/route_metrics.h"
#include <semel/clock.h>
#include <semel/problem.h>

namespace semel::telemetry {
namespace {

// Goal: a sample has the sums of all routes.
TEST(Recent, SumsWhatRoutesCount) {
  Metrics metrics;
  count(metrics.route("/a").by_ending, Ending::ran);
  count(metrics.route("/b").by_ending, Ending::ran);
  count(metrics.route("/b").by_problem, ProblemType::key_reused);
  metrics.in_flight = 3;
  metrics.claim_seconds.add(0.002);
  const Moment moment = moment_of(metrics, Time(Millis(7)));
  EXPECT_EQ(moment.at, Time(Millis(7)));
  EXPECT_EQ(moment.ended.at(static_cast<std::size_t>(Ending::ran)), 2U);
  EXPECT_EQ(moment.refused.at(static_cast<std::size_t>(ProblemType::key_reused)), 1U);
  EXPECT_EQ(moment.in_flight, 3);
  EXPECT_EQ(moment.claim.at(4), 1U) << "from 1 to 2.5 ms";
  EXPECT_EQ(moment.commit, Histogram::Counts{}) << "a store that reports nothing";
}

// Goal: only what was added between the samples counts, and nothing added is not zero.
TEST(Recent, ComputesQuantilesOfTheTimeBetween) {
  Histogram histogram;
  for (int i = 0; i < 100; ++i) histogram.add(20);
  const Histogram::Counts before = histogram.counts();
  EXPECT_LT(quantile(before, before, 0.99), 0);
  for (int i = 0; i < 100; ++i) histogram.add(0.002);
  EXPECT_NEAR(quantile(before, histogram.counts(), 0.5), 0.00175, 1e-9) << "the middle of 1 to 2.5 ms";
  for (int i = 0; i < 100; ++i) histogram.add(100);
  EXPECT_EQ(quantile(before, histogram.counts(), 0.99), second_bounds.back()) << "or more";
}

// Goal: an hour is kept, and no more.
TEST(Recent, KeepsAnHour) {
  Recent recent;
  for (std::size_t i = 0; i < Recent::kept + 10; ++i) {
    Moment moment;
    moment.at = Time(Recent::step * static_cast<int>(i));
    recent.add(moment);
  }
  const std::vector<Moment> all = recent.all();
  ASSERT_EQ(all.size(), Recent::kept);
  EXPECT_EQ(all.front().at, Time(Recent::step * 10));
  EXPECT_EQ(all.back().at - all.front().at, Millis(3'600'000));
}

}  // namespace
}  // namespace semel::telemetry
