// From the coarse step to the fine one.
#include "telemetry/tally_past.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/history.h"
#include "telemetry/tally.h"
#include "telemetry/tally_ledger.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::telemetry {
namespace {

constexpr std::size_t rows_at_once = 200;

constexpr std::array<StepRules, 3> rules{
    {{.kind = store::HistoryKind::tally_minute, .length = tally_minute, .kept = 2 * tally_day},
     {.kind = store::HistoryKind::tally_hour, .length = tally_hour, .kept = 90 * tally_day},
     {.kind = store::HistoryKind::tally_day, .length = tally_day, .kept = 730 * tally_day}}};

std::size_t names_in(const TallyAnswer& answer) {
  std::size_t names = 0;
  for (const auto& [at, table] : answer.tables) names += table.rows().size();
  return names;
}

}  // namespace

std::string_view name(TallyStep step) {
  static constexpr std::array<std::string_view, 3> names{"minute", "hour", "day"};
  return names.at(static_cast<std::size_t>(step));
}

StepRules rules_of(TallyStep step) {
  return rules.at(static_cast<std::size_t>(step));
}

// Adds the rows of a step to the answer, and returns their times. Without an answer only the times.
Async<std::set<Time>> TallyPast::read(TallyQuestion question, Millis fold, const Summed* summed, TallyAnswer* answer) {
  const StepRules of = rules_of(question.step);
  std::set<Time> times;
  store::HistorySpan span = question.span;
  std::set<std::uint64_t> seen;  // of the last time that was read: a time may have several rows
  for (;;) {
    const std::size_t limit = rows_at_once + seen.size();
    Result<std::vector<store::HistoryRow>> rows = co_await history_.read(of.kind, question.by, span, limit);
    if (!rows) co_return std::unexpected(std::move(rows.error()));
    for (const store::HistoryRow& row : *rows) {
      if (row.at != span.from) {
        seen.clear();
        span.from = row.at;
      }
      if (!seen.insert(row.number).second) continue;
      times.insert(slot_of(row.at, of.length));
      if (answer == nullptr || summed->holds(row.at)) continue;
      if (question.step == TallyStep::minute && ledger_.holds(row)) continue;
      const std::optional<TallyTable> table = TallyTable::decode(row.value);
      if (table) answer->tables[slot_of(row.at, fold)].merge(*table);
    }
    if (rows->size() < limit) co_return times;
    if (answer == nullptr || names_in(*answer) <= names_max) continue;
    answer->complete = false;
    answer->searched_to = span.from;
    co_return times;
  }
}

Async<std::set<Time>> TallyPast::rows_of(TallyQuestion question) {
  return read(std::move(question), Millis{1}, nullptr, nullptr);
}

// What has no row of its own is made up from the step below, as far as that is kept.
Async<void> TallyPast::gather(TallyQuestion question, Millis fold, Summed summed, Time now, TallyAnswer* answer) {
  const StepRules of = rules_of(question.step);
  Result<std::set<Time>> times = co_await read(question, fold, &summed, answer);
  if (!times) co_return std::unexpected(std::move(times.error()));
  if (!answer->complete) co_return Result<void>();
  if (question.step == TallyStep::minute) {
    for (const auto& [at, table] : ledger_.unfinished(question.by, question.span.from)) {
      if (at < question.span.to && !summed.holds(at)) answer->tables[slot_of(at, fold)].merge(table);
    }
    co_return Result<void>();
  }
  const auto below = static_cast<TallyStep>(static_cast<std::size_t>(question.step) - 1);
  TallyQuestion rest{.by = question.by, .step = below, .span = question.span};
  rest.span.from = std::max(rest.span.from, slot_of(now - rules_of(below).kept, of.length) + of.length);
  while (times->contains(rest.span.from)) rest.span.from += of.length;
  if (rest.span.from >= rest.span.to) co_return Result<void>();
  (question.step == TallyStep::hour ? summed.hours : summed.days) = *std::move(times);
  co_return co_await gather(std::move(rest), fold, std::move(summed), now, answer);
}

Async<TallyAnswer> TallyPast::ask(TallyQuestion question, Time now) {
  const StepRules of = rules_of(question.step);
  question.span.from = std::max(slot_of(question.span.from, of.length), slot_of(now - of.kept, of.length));
  question.span.to = std::min(question.span.to, now + of.length);
  TallyAnswer answer;
  answer.searched_to = question.span.to;
  if (question.span.from >= question.span.to) co_return answer;
  Result<void> gathered = co_await gather(std::move(question), of.length, Summed(), now, &answer);
  if (!gathered) co_return std::unexpected(std::move(gathered.error()));
  co_return answer;
}

}  // namespace semel::telemetry
