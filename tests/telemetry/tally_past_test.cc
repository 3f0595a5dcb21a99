// Minutes become hours and days, over restarts and over several processes, and nothing is counted twice.

#include "telemetry/tally_past.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "store/memory_history.h"
#include "support/run.h"
#include "telemetry/route_metrics.h"
#include "telemetry/tally.h"
#include "telemetry/tally_book.h"
#include "telemetry/tally_ledger.h"
#include "telemetry/tally_rollup.h"

namespace semel::telemetry {
namespace {

using namespace std::chrono_literals;
constexpr Time monday = Time{std::chrono::sys_days{std::chrono::year{2026} / 11 / 16}};

// A gateway that counts, writes and sums up, on a store that outlives it.
class Process {
 public:
  Process(store::MemoryHistory& history, std::uint64_t number) : history_(history), ledger_(number) {}

  void count(const RouteMetrics& route, TallyOutcome outcome, Time at, std::uint64_t scope = 7U << 20U) {
    book_.add(route, outcome, scope, 3ms);
    ledger_.take(book_, at);
  }
  void write(Time now) { check(test::run(ledger_.write(&history_, now))); }
  void sum_up(Time now) {
    check(test::run(roll_up(&ledger_, &history_, now)));
    check(test::run(prune_history(&history_, now)));
  }
  TallyAnswer ask(TallyStep step, Time from, Time to, Time now, std::string_view by = tally_by_route) {
    TallyPast past(ledger_, history_);
    Result<TallyAnswer> answer =
        test::run(past.ask({.by = std::string(by), .step = step, .span = {.from = from, .to = to}}, now));
    if (!answer) throw std::runtime_error(answer.error().detail);
    return *std::move(answer);
  }

 private:
  static void check(const Result<void>& done) {
    if (!done) throw std::runtime_error(done.error().detail);
  }

  store::MemoryHistory& history_;
  TallyLedger ledger_;
  TallyBook book_;
};

std::uint64_t requests_of(const TallyAnswer& answer) {
  std::uint64_t all = 0;
  for (const auto& [at, table] : answer.tables) {
    for (const auto& [name, tally] : table.rows()) all += requests_in(tally.counts);
  }
  return all;
}

std::size_t names_of(const TallyAnswer& answer) {
  TallyTable all;
  for (const auto& [at, table] : answer.tables) all.merge(table);
  return all.rows().size();
}

// What was counted a moment ago is told at once, before it is written, and once only when it has been.
TEST(TallyPast, TellsWhatIsNotWrittenYet) {
  store::MemoryHistory history;
  RouteMetrics route("/v1/payments");
  Process process(history, 5);
  const Time now = monday + 10h + 30s;
  process.count(route, TallyOutcome::ran, now);
  process.count(route, TallyOutcome::replayed, now);
  for (int round = 0; round < 3; ++round) {
    for (const TallyStep step : {TallyStep::minute, TallyStep::hour, TallyStep::day}) {
      const TallyAnswer answer = process.ask(step, monday, monday + 24h, now);
      ASSERT_EQ(answer.tables.size(), 1U);
      EXPECT_EQ(answer.tables.begin()->first, slot_of(now, rules_of(step).length));
      EXPECT_EQ(requests_of(answer), 2U) << name(step);
      EXPECT_EQ(duplicates_in(answer.tables.begin()->second.rows().at("/v1/payments").counts), 1U);
      EXPECT_TRUE(answer.complete);
    }
    process.write(now + 10s * round);
  }
}

// Two processes on one store, one of which starts anew: their counts add up.
TEST(TallyPast, AddsUpProcessesAndRestarts) {
  store::MemoryHistory history;
  RouteMetrics route("/a");
  const Time now = monday + 10h;
  {
    Process before(history, 1);
    before.count(route, TallyOutcome::ran, now);
    before.write(now);
  }
  Process first(history, 2);
  Process second(history, 3);
  first.count(route, TallyOutcome::ran, now + 5s);
  second.count(route, TallyOutcome::ran, now + 5s);
  second.write(now + 6s);
  EXPECT_EQ(requests_of(first.ask(TallyStep::hour, monday, monday + 24h, now + 7s)), 3U);
  EXPECT_EQ(requests_of(second.ask(TallyStep::hour, monday, monday + 24h, now + 7s)), 2U);  // the first has not written
  first.write(now + 8s);
  EXPECT_EQ(requests_of(second.ask(TallyStep::hour, monday, monday + 24h, now + 9s)), 3U);
}

// Weeks of minutes by two processes that both sum up and drop what is old: every count is in exactly one hour and one
// day, for as long as each is kept.
TEST(TallyPast, KeepsEveryCountAsMinutesBecomeHoursAndDays) {
  store::MemoryHistory history;
  RouteMetrics route("/a");
  std::map<Time, std::uint64_t> days;
  std::map<Time, std::uint64_t> hours;
  std::mt19937 random(1);
  std::optional<Process> first(std::in_place, history, 1);
  Process second(history, 2);
  std::uint64_t number = 10;
  Time now = monday;
  for (; now < monday + 5 * 24h; now += 7min) {
    for (Process* process : {&*first, &second}) {
      const unsigned count = random() % 4;
      for (unsigned i = 0; i < count; ++i) process->count(route, TallyOutcome::ran, now, (random() % 5 + 1) << 20U);
      days[slot_of(now, tally_day)] += count;
      hours[slot_of(now, tally_hour)] += count;
      process->write(now + 10s);
      if (random() % 3 == 0) process->sum_up(now + 20s);
    }
    if (random() % 50 == 0) first.emplace(history, ++number);  // it has written what it counted
  }
  second.sum_up(now);
  for (const std::string_view by : {tally_by_route, tally_by_scope}) {
    const TallyAnswer by_day = second.ask(TallyStep::day, monday, now, now, by);
    for (const auto& [at, count] : days) {
      std::uint64_t counted = 0;
      for (const auto& [name, tally] : by_day.tables.at(at).rows()) counted += requests_in(tally.counts);
      EXPECT_EQ(counted, count) << by << " day " << (at - monday) / 24h;
    }
    const TallyAnswer by_hour = second.ask(TallyStep::hour, monday, now, now, by);
    for (const auto& [at, count] : hours) {
      std::uint64_t counted = 0;
      if (by_hour.tables.contains(at)) {
        for (const auto& [name, tally] : by_hour.tables.at(at).rows()) counted += requests_in(tally.counts);
      }
      EXPECT_EQ(counted, count) << by << " hour " << (at - monday) / 1h;
    }
  }
  EXPECT_EQ(names_of(second.ask(TallyStep::day, monday, now, now, tally_by_scope)), 5U);
  // Minutes are kept for two days, and the day in which they end.
  const TallyAnswer old = second.ask(TallyStep::minute, monday, monday + 24h, now);
  EXPECT_EQ(requests_of(old), 0U);
}

// A store that does not answer loses nothing for half an hour; after that the oldest minutes go.
TEST(TallyLedger, WaitsForAStoreForHalfAnHour) {
  store::MemoryHistory history;
  RouteMetrics route("/a");
  Process process(history, 1);
  for (int i = 0; i < 40; ++i) process.count(route, TallyOutcome::ran, monday + i * 1min);
  process.write(monday + 40min);
  EXPECT_EQ(requests_of(process.ask(TallyStep::minute, monday, monday + 1h, monday + 41min)), 30U);
}

}  // namespace
}  // namespace semel::telemetry
