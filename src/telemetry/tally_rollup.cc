// The sums are made from rows alone, so it does not matter who makes them.
#include "telemetry/tally_rollup.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/history.h"
#include "telemetry/tally.h"
#include "telemetry/tally_ledger.h"
#include "telemetry/tally_past.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::telemetry {
namespace {

constexpr Millis settled{2 * tally_minute};      // after its end, the last minute of a slot has been written
constexpr Millis summed_for{30 * tally_minute};  // for those who were late
constexpr std::size_t scopes_kept = 1'000;
constexpr std::uint64_t the_sum = 1;  // the number of a row that is a sum

struct Retention {
  store::HistoryKind kind;
  Millis kept;
};
constexpr Millis sightings_kept = 30 * tally_day;
constexpr Millis findings_kept = 90 * tally_day;

// The slots from `first` on that are over and have no row, or may still change.
std::vector<Time> open_slots(const std::set<Time>& rows, TallyStep step, Time first, Time now) {
  const StepRules of = rules_of(step);
  std::vector<Time> open;
  for (Time at = slot_of(first, of.length); at + of.length + settled <= now; at += of.length) {
    const bool late = now < at + of.length + summed_for;
    if (late || !rows.contains(at)) open.push_back(at);
  }
  return open;
}

Async<void> roll_up_step(const TallyLedger* ledger, store::History* history, TallyStep step, std::string by, Time now) {
  const StepRules of = rules_of(step);
  const auto below = static_cast<TallyStep>(static_cast<std::size_t>(step) - 1);
  // Of an older slot, parts may be gone.
  const store::HistorySpan span{.from = slot_of(now - rules_of(below).kept, of.length) + of.length, .to = now};
  const Result<std::vector<store::HistoryRow>> first = co_await history->read(rules_of(below).kind, by, span, 1);
  if (!first) co_return std::unexpected(first.error());
  if (first->empty()) co_return Result<void>();
  TallyPast past(*ledger, *history);
  TallyQuestion known{.by = by, .step = step, .span = span};
  const Result<std::set<Time>> rows = co_await past.rows_of(std::move(known));
  if (!rows) co_return std::unexpected(rows.error());
  for (const Time at : open_slots(*rows, step, first->front().at, now)) {
    TallyQuestion parts{.by = by, .step = below, .span = {.from = at, .to = at + of.length}};
    const Result<TallyAnswer> finer = co_await past.ask(std::move(parts), now);
    if (!finer) co_return std::unexpected(finer.error());
    TallyTable sum;
    for (const auto& [when, table] : finer->tables) sum.merge(table);
    if (sum.empty()) continue;
    if (by == tally_by_scope) sum.keep_heaviest(scopes_kept);
    std::vector<store::HistoryRow> row(1);
    row.front() = {.kind = of.kind, .subject = by, .at = at, .value = sum.encode(tally_bytes_max), .number = the_sum};
    Result<void> written = co_await history->append(std::move(row));
    if (!written) co_return written;
  }
  co_return Result<void>();
}

}  // namespace

Async<void> roll_up(const TallyLedger* ledger, store::History* history, Time now) {
  for (const TallyStep step : {TallyStep::hour, TallyStep::day}) {
    for (const std::string_view by : {tally_by_route, tally_by_scope}) {
      Result<void> done = co_await roll_up_step(ledger, history, step, std::string(by), now);
      if (!done) co_return done;
    }
  }
  co_return Result<void>();
}

Async<void> prune_history(store::History* history, Time now) {
  using store::HistoryKind;
  const std::array<Retention, 5> all{{{HistoryKind::sighting, sightings_kept},
                                      {HistoryKind::finding, findings_kept},
                                      {HistoryKind::tally_minute, rules_of(TallyStep::minute).kept},
                                      {HistoryKind::tally_hour, rules_of(TallyStep::hour).kept},
                                      {HistoryKind::tally_day, rules_of(TallyStep::day).kept}}};
  for (const Retention& each : all) {
    Result<void> pruned = co_await history->prune(each.kind, now - each.kept);
    if (!pruned) co_return pruned;
  }
  co_return Result<void>();
}

}  // namespace semel::telemetry
