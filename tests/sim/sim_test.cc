// The whole heart of Semel in a simulated world, seed after seed: once(), decide(), the state machine and run_batch().
//
// A failing seed prints the promise that was broken, what happened to the key, and the command that shows it again.
//   SEMEL_SIM_SEED=N    that seed alone
//   SEMEL_SIM_STEPS=N   go on until so many steps have been made (millions take a second or so each)
//   SEMEL_SIM_SEEDS=N   or until so many seeds have been run
//   SEMEL_SIM_FROM=N    begin with this seed instead of 1
// A seed that once failed belongs into seeds.txt.

#include <cstdint>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/number_from.h"
#include "sim/simulation.h"
#include "support/places.h"

namespace semel::sim {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SEMEL_SIM_SANITIZED
#endif
#endif
#ifdef SEMEL_SIM_SANITIZED
constexpr std::uint64_t steps_default = 1'000'000;
#else
constexpr std::uint64_t steps_default = 20'000'000;
#endif

Stats run(std::uint64_t seed) {
  Simulation simulation(seed);
  simulation.run();
  if (!simulation.verdict().empty()) {
    ADD_FAILURE() << "seed " << seed << ", step " << simulation.stats().steps << ": " << simulation.verdict()
                  << "  again: SEMEL_SIM_SEED=" << seed
                  << " build/dev/tests/sim_test --gtest_filter=Simulation.KeepsEveryPromise";
  }
  return simulation.stats();
}

std::vector<std::uint64_t> seeds_kept() {
  std::ifstream file(test::in_tree("tests/sim/seeds.txt"));
  std::vector<std::uint64_t> seeds;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::uint64_t seed = 0;
    if (words >> seed) seeds.push_back(seed);
  }
  return seeds;
}

// Seeds that found a mistake once find none today.
TEST(Simulation, KeepsEveryPromiseOnSeedsThatOnceBrokeOne) {
  const std::vector<std::uint64_t> seeds = seeds_kept();
  ASSERT_FALSE(seeds.empty());
  for (const std::uint64_t seed : seeds) run(seed);
}

// A seed that fails can be looked at again: it always gives the same history.
TEST(Simulation, GivesTheSameHistoryForTheSameSeed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Simulation first(seed);
    first.run();
    Simulation second(seed);
    second.run();
    ASSERT_EQ(first.stats().steps, second.stats().steps) << seed;
    ASSERT_EQ(first.digest_of_history(), second.digest_of_history()) << seed;
  }
}

// Whatever crashes, stalls or gets lost, in whatever order: no promise is broken.
TEST(Simulation, KeepsEveryPromise) {
  if (const auto seed = number_from("SEMEL_SIM_SEED")) {
    std::cout << run(*seed).text() << '\n';
    return;
  }
  const auto seeds = number_from("SEMEL_SIM_SEEDS");
  const std::uint64_t steps = number_from("SEMEL_SIM_STEPS").value_or(steps_default);
  Stats total;
  for (std::uint64_t seed = number_from("SEMEL_SIM_FROM").value_or(1);; ++seed) {
    if (HasFailure() || (seeds ? total.seeds >= *seeds : total.steps >= steps)) break;
    total += run(seed);
  }
  std::cout << total.text() << '\n';
}

// The world is as rough as it is meant to be: every kind of fault, refusal and way to an end does occur.
TEST(Simulation, MeetsEveryFaultAndEveryAnswer) {
  Stats total;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) total += run(seed);
  for (const std::uint64_t count :
       {total.crashes, total.store_crashes, total.pauses, total.stalls, total.commit_faults, total.letter_faults,
        total.effects, total.probes, total.renewals, total.sweeps, total.ran, total.replays, total.reused,
        total.in_flight, total.unknown, total.unavailable, total.superseded, total.ordered_claims}) {
    EXPECT_GT(count, 50U);
  }
  EXPECT_GT(total.attempts, total.effects);
  EXPECT_GT(total.lives, 150 * 3U);  // keys expire and are used again
}

}  // namespace
}  // namespace semel::sim
