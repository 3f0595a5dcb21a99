// What takes hours, or a storm, outside: a handler that is dead for six hours, an event that no handler takes, and a
// flood of duplicates of one event that waits. Simulated, so it takes seconds here.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/inbox_simulation.h"

namespace semel::sim {
namespace {

using store::DeliveryRecord;
using store::DeliveryState;

constexpr Millis second{1'000};
constexpr Millis hour{3'600'000};
constexpr Time start{Millis{1'000'000'000'000}};

SimDestination destination(const std::string& name, std::uint32_t concurrency) {
  SimDestination made;
  made.rules.name = name;
  made.rules.concurrency = concurrency;
  return made;
}

std::vector<const DeliveryRecord*> deliveries_to(InboxSimulation& simulation, const std::string& to) {
  std::vector<const DeliveryRecord*> found;
  for (const auto& [id, event] : simulation.oracle().events()) {
    for (const DeliveryRecord& each : event.deliveries) {
      if (each.to == to) found.push_back(&each);
    }
  }
  return found;
}

std::size_t count(InboxSimulation& simulation, const std::string& to, DeliveryState state) {
  const auto all = deliveries_to(simulation, to);
  return static_cast<std::size_t>(std::ranges::count(all, state, &DeliveryRecord::state));
}

std::uint64_t attempts(InboxSimulation& simulation, const std::string& to) {
  std::uint64_t sum = 0;
  for (const DeliveryRecord* each : deliveries_to(simulation, to)) sum += each->attempt;
  return sum;
}

// Six hours of a handler that cannot be reached, an event each second to it and to another: the other one waits for
// nothing, hardly an attempt is spent, nothing is given up, and afterwards everything is delivered.
TEST(InboxSimulation, OutlivesSixHoursOfADeadHandler) {
  constexpr std::size_t events = 6 * 3'600 + 600;
  InboxSetup setup;
  setup.destinations = {destination("dead", 16), destination("well", 16)};
  setup.destinations[0].mood.down.emplace_back(start + 300 * second, start + 300 * second + 6 * hour);
  for (std::size_t i = 0; i < events; ++i) {
    setup.events.push_back(sim_event(i, {"dead", "well"}));
    setup.events.back().ttl = 72 * hour;
  }
  InboxSimulation simulation(1, std::move(setup));
  for (std::size_t i = 0; i < events; ++i) simulation.send(i, static_cast<Millis::rep>(i) * second);

  simulation.run_for(300 * second);
  const std::uint64_t before = attempts(simulation, "dead");
  simulation.run_for(6 * hour - second);
  ASSERT_EQ(simulation.verdict(), "");
  const std::uint64_t spent = attempts(simulation, "dead") - before;
  EXPECT_GT(count(simulation, "dead", DeliveryState::waiting), 21'000U);
  EXPECT_EQ(count(simulation, "dead", DeliveryState::dead), 0U);
  EXPECT_GT(spent, 6U * 60) << "it is asked now and then: at least once a minute";
  EXPECT_LT(spent, 2'000U) << "an open breaker spends no attempts";

  simulation.run_for(300 * second);
  simulation.heal();
  EXPECT_EQ(simulation.verdict(), "");
  EXPECT_EQ(count(simulation, "dead", DeliveryState::done), events);
  EXPECT_EQ(count(simulation, "well", DeliveryState::done), events);
  for (const DeliveryRecord* each : deliveries_to(simulation, "well")) {
    ASSERT_LT(each->changed - each->since, second) << "one that is dead delays no other";
  }
}

InboxSetup world_with_poison(bool blocks) {
  InboxSetup setup;
  setup.destinations = {destination("billing", 4)};
  setup.destinations[0].rules.schedule.steps = {Millis{0}, Millis{500}, Millis{2'000}};
  setup.destinations[0].rules.schedule.give_up_after = 60 * second;
  for (std::size_t i = 0; i < 200; ++i) {
    SimEvent event = sim_event(i, {"billing"});
    event.line = {.kind = store::Line::Kind::fifo,
                  .object = {static_cast<std::uint8_t>(1 + i % 20)},
                  .stamp = std::to_string(1'000 + i),
                  .reorder = {},
                  .blocks = blocks};
    if (i == 23) event.type = poison_type;
    setup.events.push_back(std::move(event));
  }
  return setup;
}

struct OfPoison {
  const DeliveryRecord* poison = nullptr;
  std::vector<const DeliveryRecord*> behind{};  // of its object
  std::vector<const DeliveryRecord*> others{};
};

OfPoison sorted(InboxSimulation& simulation) {
  OfPoison found;
  for (const auto& [id, event] : simulation.oracle().events()) {
    const DeliveryRecord* const record = &event.deliveries.front();
    if (event.type == poison_type) {
      found.poison = record;
    } else if (event.line.object[0] == 4 && event.line.stamp > "1023") {
      found.behind.push_back(record);
    } else {
      found.others.push_back(record);
    }
  }
  return found;
}

// An event that no handler takes holds up nothing but its own object, and that only until it is given up.
TEST(InboxSimulation, APoisonEventIsItsOwnAffair) {
  InboxSimulation simulation(2, world_with_poison(false));
  for (std::size_t i = 0; i < 200; ++i) simulation.send(i, static_cast<Millis::rep>(i) * Millis{50});
  simulation.run_for(120 * second);
  ASSERT_EQ(simulation.verdict(), "");
  const OfPoison found = sorted(simulation);
  ASSERT_NE(found.poison, nullptr);
  EXPECT_EQ(found.poison->state, DeliveryState::dead);
  EXPECT_GT(found.poison->attempt, 10U);
  ASSERT_EQ(found.behind.size(), 8U);
  ASSERT_EQ(found.others.size(), 191U);
  for (const DeliveryRecord* each : found.others) {
    EXPECT_EQ(each->state, DeliveryState::done);
    EXPECT_LT(each->changed - each->since, 20 * second);
  }
  for (const DeliveryRecord* each : found.behind) {
    EXPECT_EQ(each->state, DeliveryState::done);
    EXPECT_GE(each->changed, found.poison->changed) << "its object is in order";
  }
}

// With `on_dead = "block"` those behind it wait for an operator.
TEST(InboxSimulation, APoisonEventMayBlockItsObject) {
  InboxSimulation simulation(3, world_with_poison(true));
  for (std::size_t i = 0; i < 200; ++i) simulation.send(i, static_cast<Millis::rep>(i) * Millis{50});
  simulation.run_for(600 * second);
  ASSERT_EQ(simulation.verdict(), "");
  const OfPoison found = sorted(simulation);
  ASSERT_NE(found.poison, nullptr);
  EXPECT_EQ(found.poison->state, DeliveryState::dead);
  for (const DeliveryRecord* each : found.behind) EXPECT_EQ(each->state, DeliveryState::waiting);
  for (const DeliveryRecord* each : found.others) EXPECT_EQ(each->state, DeliveryState::done);
  simulation.heal();  // somebody discards it
  EXPECT_EQ(simulation.verdict(), "");
  for (const DeliveryRecord* each : sorted(simulation).behind) EXPECT_EQ(each->state, DeliveryState::done);
}

// A provider that sends an event again and again while it waits costs no write, and the handler sees it once.
TEST(InboxSimulation, AStormOfDuplicatesOfOneWaitingEventCostsNoWrite) {
  constexpr std::uint64_t duplicates = 50'000;
  InboxSetup setup;
  setup.destinations = {destination("billing", 4)};
  setup.events = {sim_event(0, {"billing"})};
  setup.batch_max = 64;
  InboxSimulation simulation(4, std::move(setup));
  simulation.run_for(second);
  simulation.node().pause("billing");
  simulation.send(0, second);
  simulation.run_for(3 * second);
  ASSERT_EQ(count(simulation, "billing", DeliveryState::waiting), 1U);

  const std::uint64_t written = simulation.stats().commits;
  for (std::uint64_t i = 0; i < duplicates; ++i) simulation.send(0, Millis{static_cast<Millis::rep>(i / 50)});
  simulation.run_for(10 * second);
  EXPECT_EQ(simulation.stats().known, duplicates);
  EXPECT_EQ(simulation.stats().accepted, 1U);
  EXPECT_EQ(simulation.stats().commits, written);

  simulation.node().resume("billing");
  simulation.run_for(10 * second);
  EXPECT_EQ(simulation.verdict(), "");
  EXPECT_EQ(simulation.stats().attempts, 1U);
  EXPECT_EQ(count(simulation, "billing", DeliveryState::done), 1U);
}

}  // namespace
}  // namespace semel::sim
