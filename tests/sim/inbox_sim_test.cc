// The inbox in a simulated world, seed after seed: the rules of the store, its batches, the gates, the verdicts and the
// schedule are the real ones; the disk, the handlers and time are simulated.
//
// A failing seed prints the promise that was broken and what happened before.
//   SEMEL_SIM_SEED=N    that seed alone
//   SEMEL_INBOX_STEPS=N go on until so many steps have been made
//   SEMEL_SIM_FROM=N    begin with this seed instead of 1

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "sim/inbox_simulation.h"
#include "sim/number_from.h"

namespace semel::sim {
namespace {

using store::DeliveryState;

constexpr std::uint64_t steps_default = 1'000'000;

InboxStats run(std::uint64_t seed) {
  InboxSimulation simulation(seed);
  simulation.run();
  if (!simulation.verdict().empty()) {
    ADD_FAILURE() << "seed " << seed << ", step " << simulation.stats().steps << ": " << simulation.verdict()
                  << "  again: SEMEL_SIM_SEED=" << seed
                  << " build/dev/tests/sim_test --gtest_filter=InboxSimulation.KeepsEveryPromise";
  }
  return simulation.stats();
}

// Whatever crashes, fails or says no, in whatever order: no promise is broken.
TEST(InboxSimulation, KeepsEveryPromise) {
  if (const auto seed = number_from("SEMEL_SIM_SEED")) {
    std::cout << run(*seed).text() << '\n';
    return;
  }
  const std::uint64_t steps = number_from("SEMEL_INBOX_STEPS").value_or(steps_default);
  InboxStats total;
  for (std::uint64_t seed = number_from("SEMEL_SIM_FROM").value_or(1); !HasFailure() && total.steps < steps; ++seed) {
    total += run(seed);
  }
  std::cout << total.text() << '\n';
}

// Seeds that found a mistake once find none today.
TEST(InboxSimulation, KeepsEveryPromiseOnSeedsThatOnceBrokeOne) {
  run(911);  // putting back what a dead process left was not taken back with the batch that found no room
  run(992);  // a dead event that blocks its object was dropped, and the object stood still for ever
}

// A seed that fails can be looked at again: it always gives the same history.
TEST(InboxSimulation, GivesTheSameHistoryForTheSameSeed) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    InboxSimulation first(seed);
    first.run();
    InboxSimulation second(seed);
    second.run();
    ASSERT_EQ(first.stats().steps, second.stats().steps) << seed;
    ASSERT_EQ(first.world().digest_of_history(), second.world().digest_of_history()) << seed;
  }
}

// The world is as rough as it is meant to be: every fault, every answer and every end does occur.
TEST(InboxSimulation, MeetsEveryFaultAndEveryEnd) {
  InboxStats total;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) total += run(seed);
  for (const std::uint64_t count : {total.crashes, total.commit_faults, total.accepted, total.known, total.refused,
                                    total.retries, total.floors, total.adopted, total.acts, total.fifo}) {
    EXPECT_GT(count, 50U);
  }
  EXPECT_GT(total.pauses, 10U);
  for (const DeliveryState state : {DeliveryState::done, DeliveryState::dead, DeliveryState::superseded,
                                    DeliveryState::skipped, DeliveryState::discarded}) {
    EXPECT_GT(total.ends[state], 5U) << name(state);
  }
}

// A disk that cannot be read for moments puts off what it holds, and breaks no promise.
TEST(InboxSimulation, KeepsEveryPromiseThoughReadsFail) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    InboxSimulation simulation(seed);
    simulation.world().setup.faults.read_failed = 300;
    simulation.run();
    ASSERT_EQ(simulation.verdict(), "") << "seed " << seed;
  }
}

// ---- crashes at each write ------------------------------------------------------------------------------------------

InboxSetup small_world() {
  InboxSetup setup;
  for (const char* name : {"billing", "crm"}) {
    SimDestination destination;
    destination.rules.name = name;
    destination.rules.concurrency = 2;
    destination.rules.schedule.steps = {Millis{0}, Millis{300}, Millis{1'000}};
    destination.mood.fails = 2'000;
    destination.mood.busy = 2'000;
    setup.destinations.push_back(std::move(destination));
  }
  for (std::size_t i = 0; i < 8; ++i) {
    SimEvent event =
        sim_event(i, i % 3 == 0 ? std::vector<std::string>{"billing", "crm"} : std::vector<std::string>{"billing"});
    if (i % 2 == 0) {
      event.line.kind = i % 4 == 0 ? store::Line::Kind::fifo : store::Line::Kind::latest;
      event.line.object = {static_cast<std::uint8_t>(1 + i % 4)};
      event.line.stamp = std::string(1, static_cast<char>('a' + i));
    }
    setup.events.push_back(std::move(event));
  }
  return setup;
}

// The same world again and again, each time with another write that fails, or that the process does not survive.
TEST(InboxSimulation, KeepsEveryPromiseWhereverAWriteIsCut) {
  InboxSimulation clean(7, small_world());
  clean.run();
  ASSERT_EQ(clean.verdict(), "");
  const std::uint64_t writes = clean.stats().commits;
  ASSERT_GT(writes, 20U);
  for (std::uint64_t number = 1; number <= writes; ++number) {
    for (const CommitFate fate :
         {CommitFate::full, CommitFate::failed, CommitFate::cut_before, CommitFate::cut_after}) {
      for (const bool reappears : {false, true}) {
        if (reappears && fate != CommitFate::failed) continue;
        InboxSimulation cut(7, small_world());
        cut.disk().doom(number, fate);
        cut.disk().limbo_reappears(reappears);
        cut.run();
        ASSERT_EQ(cut.verdict(), "") << "write " << number << ", fate " << static_cast<int>(fate);
        ASSERT_EQ(cut.stats().commit_faults, 1U) << "write " << number;
      }
    }
  }
}

// What a dead process left is put back, also if the first write of the next process finds no room.
TEST(InboxSimulation, PutsBackWhatWasLeftWhenThereIsRoom) {
  InboxSimulation clean(7, small_world());
  clean.run();
  for (std::uint64_t number = 1; number <= clean.stats().commits; ++number) {
    InboxSimulation cut(7, small_world());
    cut.disk().doom(number, CommitFate::cut_after);
    cut.disk().doom(number + 1, CommitFate::full);
    cut.run();
    ASSERT_EQ(cut.verdict(), "") << "write " << number;
  }
}

}  // namespace
}  // namespace semel::sim
