// Tallies add up, survive being written down, and keep the heaviest scopes.

#include "telemetry/tally.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "telemetry/latency_sketch.h"
#include "telemetry/tally_ledger.h"
#include "telemetry/top_scopes.h"

namespace semel::telemetry {
namespace {

using namespace std::chrono_literals;

// Every time falls into a bucket whose middle is within an eighth of it.
TEST(LatencySketch, IsOffByAnEighthAtMost) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double exponent = std::uniform_real_distribution<double>(4.0, 11.0)(random);
    const std::chrono::nanoseconds took(static_cast<std::int64_t>(std::pow(10.0, exponent)));
    const auto middle = static_cast<double>(LatencySketch::middle_of(LatencySketch::bucket_of(took)).count());
    EXPECT_NEAR(middle / static_cast<double>(took.count()), 1.0, 0.126) << took.count();
  }
  EXPECT_EQ(LatencySketch::bucket_of(-1ns), 0U);
  EXPECT_EQ(LatencySketch::bucket_of(24h), LatencySketch::buckets - 1);
}

// Quantiles are those of what was added, over sketches that were merged.
TEST(LatencySketch, TellsQuantilesOfMergedSketches) {
  LatencySketch fast;
  LatencySketch slow;
  EXPECT_FALSE(fast.quantile(0.5));
  for (int i = 0; i < 98; ++i) fast.add(1ms);
  for (int i = 0; i < 2; ++i) slow.add(1s);
  fast.merge(slow);
  EXPECT_EQ(fast.count(), 100U);
  EXPECT_NEAR(static_cast<double>(fast.quantile(0.5)->count()), 1e6, 0.13e6);
  EXPECT_NEAR(static_cast<double>(fast.quantile(0.99)->count()), 1e9, 0.13e9);
}

// Which endings are duplicates, and which requests have a key.
TEST(Tally, KnowsDuplicates) {
  struct Case {
    Ending ending;
    std::optional<ProblemType> problem;
    const char* would;
    const char* outcome;
    bool keyed;
    bool duplicate;
  };
  const Case cases[]{
      {Ending::passed, {}, "", "passed", false, false},
      {Ending::unkeyed, {}, "", "unkeyed", false, false},
      {Ending::ran, {}, "", "ran", true, false},
      {Ending::released, {}, "", "released", true, false},
      {Ending::unknown, ProblemType::outcome_unknown, "", "unknown", true, false},
      {Ending::replayed, {}, "", "replayed", true, true},
      {Ending::refused, ProblemType::in_flight, "", "in-flight", true, true},
      {Ending::refused, ProblemType::outcome_unknown, "", "outcome-unknown", true, true},
      {Ending::refused, ProblemType::key_reused, "", "key-reused", true, false},
      {Ending::refused, ProblemType::key_missing, "", "refused", false, false},
      {Ending::malformed, {}, "", "malformed", false, false},
      {Ending::superseded, {}, "", "superseded", true, false},
      {Ending::accepted, {}, "", "accepted", true, false},
      {Ending::observed, {}, "run", "would-run", true, false},
      {Ending::observed, {}, "replay", "would-replay", true, true},
      {Ending::observed, {}, "key-reused", "would-refuse", true, false},
      {Ending::observed, {}, "pass", "observed", false, false},
  };
  for (const Case& each : cases) {
    const TallyOutcome outcome = tally_outcome(each.ending, each.problem, each.would);
    EXPECT_EQ(name(outcome), each.outcome);
    TallyCounts counts{};
    counts.at(static_cast<std::size_t>(outcome)) = 3;
    EXPECT_EQ(requests_in(counts), 3U) << each.outcome;
    EXPECT_EQ(keyed_in(counts), each.keyed ? 3U : 0U) << each.outcome;
    EXPECT_EQ(duplicates_in(counts), each.duplicate ? 3U : 0U) << each.outcome;
  }
}

TallyTable some_table() {
  TallyTable table;
  for (int i = 0; i < 50; ++i) {
    TallySum& tally = table.of("/v1/route-" + std::to_string(i));
    for (std::size_t outcome = 0; outcome < tally_outcomes; outcome += 1 + static_cast<std::size_t>(i) % 3) {
      tally.counts.at(outcome) = 1ULL << (i % 50);
      tally.times_of(static_cast<TallyOutcome>(outcome)).add(std::chrono::microseconds(17 * i));
    }
  }
  return table;
}

// A table that was written is read back as it was; one that is cut short, or has a flipped byte, never breaks anything.
TEST(TallyTable, SurvivesBeingWrittenDown) {
  const TallyTable table = some_table();
  const std::string bytes = table.encode(1U << 20U);
  const std::optional<TallyTable> read = TallyTable::decode(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->encode(1U << 20U), bytes);
  EXPECT_EQ(read->rows().at("/v1/route-7").counts, table.rows().at("/v1/route-7").counts);
  EXPECT_EQ(read->rows().at("/v1/route-7").all_times().count(), table.rows().at("/v1/route-7").all_times().count());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(TallyTable::decode(bytes.substr(0, size)));
  std::mt19937 random(2);
  std::size_t refused = 0;
  for (int i = 0; i < 2'000; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 8));
    refused += TallyTable::decode(damaged) ? 0 : 1;
  }
  EXPECT_GT(refused, 0U);
}

// What is too large goes without its times, and loses no count.
TEST(TallyTable, LeavesOutTimesBeforeCounts) {
  const TallyTable table = some_table();
  const std::string bytes = table.encode(100);
  EXPECT_LT(bytes.size(), table.encode(1U << 20U).size());
  const std::optional<TallyTable> read = TallyTable::decode(bytes);
  ASSERT_TRUE(read);
  for (const auto& [name, tally] : table.rows()) {
    EXPECT_EQ(read->rows().at(name).counts, tally.counts);
    EXPECT_EQ(read->rows().at(name).all_times().count(), 0U);
  }
}

// A table has a bounded number of names; what comes after is counted as one.
TEST(TallyTable, CountsWhatDoesNotFitAsOne) {
  TallyTable table;
  for (std::size_t i = 0; i < TallyTable::names_max + 100; ++i) ++table.of(std::to_string(i)).counts[0];
  EXPECT_EQ(table.rows().size(), TallyTable::names_max + 1);
  EXPECT_EQ(table.rows().at(std::string(other_names)).counts[0], 100U);
  table.keep_heaviest(1);
  ASSERT_EQ(table.rows().size(), 1U);
  EXPECT_TRUE(table.rows().contains(std::string(other_names)));
}

// With no more scopes than places, counts are exact.
TEST(TopScopes, IsExactWhileThereIsRoom) {
  TopScopes scopes;
  for (std::uint64_t i = 0; i < TopScopes::places; ++i) {
    for (std::uint64_t times = 0; times <= i % 7; ++times) scopes.add(i << 16U, TallyOutcome::ran);
    scopes.add(i << 16U, TallyOutcome::replayed);
  }
  const TallyTable table = table_of(scopes);
  ASSERT_EQ(table.rows().size(), TopScopes::places);
  const TallySum& tally = table.rows().at("00000000000d");  // 13
  EXPECT_EQ(tally.counts[static_cast<std::size_t>(TallyOutcome::ran)], 7U);
  EXPECT_EQ(tally.counts[static_cast<std::size_t>(TallyOutcome::replayed)], 1U);
}

// The heavy ones stay, whatever the number of those that come once; nearly all that they did is counted.
TEST(TopScopes, KeepsTheHeavyAmongManyLightOnes) {
  TopScopes scopes;
  std::mt19937_64 random(3);
  constexpr std::uint64_t heavy = 50;
  std::array<std::uint64_t, heavy> sent{};
  for (int i = 0; i < 400'000; ++i) {
    if (random() % 4 == 0) {
      const std::uint64_t which = random() % heavy;
      ++sent.at(which);
      scopes.add((which + 1) << 20U, TallyOutcome::ran);
    } else {
      scopes.add(random() | (std::uint64_t{1} << 63U), TallyOutcome::ran);
    }
  }
  EXPECT_EQ(scopes.entries().size(), TopScopes::places);
  for (std::uint64_t which = 0; which < heavy; ++which) {
    std::uint64_t counted = 0;
    for (const TopScopes::Entry& entry : scopes.entries()) {
      if (entry.scope == (which + 1) << 20U) counted = entry.counts[static_cast<std::size_t>(TallyOutcome::ran)];
    }
    EXPECT_GE(counted * 10, sent.at(which) * 9) << which;
    EXPECT_LE(counted, sent.at(which));
  }
}

}  // namespace
}  // namespace semel::telemetry
