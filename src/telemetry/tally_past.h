// Tallies out of the history of a store: of minutes, hours or days, whichever rows there are.
//
// An hour that has no row yet is the sum of its minutes, and a day the sum of its hours. So a question about today is
// answered from three kinds of rows, and from what this process has not written yet. How long each kind is kept:
// minutes for two days, hours for 90 days, days for two years.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "store/history.h"
#include "telemetry/tally.h"
#include "telemetry/tally_ledger.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::telemetry {

enum class TallyStep : std::uint8_t { minute, hour, day };
std::string_view name(TallyStep step);

struct StepRules {
  store::HistoryKind kind;
  Millis length;
  Millis kept;
};
StepRules rules_of(TallyStep step);

struct TallyQuestion {
  std::string by;  // tally_by_route or tally_by_scope
  TallyStep step = TallyStep::hour;
  store::HistorySpan span;
};

struct TallyAnswer {
  std::map<Time, TallyTable> tables;  // by the beginning of the minute, hour or day
  Time searched_to;                   // all before this was looked at
  bool complete = true;
};

class TallyPast {
 public:
  // A question that is about more names and times than this is answered in part.
  static constexpr std::size_t names_max = 50'000;

  // Both outlive this.
  TallyPast(const TallyLedger& ledger, store::History& history) : ledger_(ledger), history_(history) {}

  Async<TallyAnswer> ask(TallyQuestion question, Time now);

  // The beginnings of the minutes, hours or days that have a row.
  Async<std::set<Time>> rows_of(TallyQuestion question);

 private:
  // What has been summed up: the rows below it are not to be counted again.
  struct Summed {
    std::set<Time> hours;
    std::set<Time> days;

    [[nodiscard]] bool holds(Time at) const {
      return hours.contains(slot_of(at, tally_hour)) || days.contains(slot_of(at, tally_day));
    }
  };

  Async<void> gather(TallyQuestion question, Millis fold, Summed summed, Time now, TallyAnswer* answer);
  Async<std::set<Time>> read(TallyQuestion question, Millis fold, const Summed* summed, TallyAnswer* answer);

  const TallyLedger& ledger_;
  store::History& history_;
};

}  // namespace semel::telemetry
