// The tallies of a process: gathers those of its threads by the minute, and keeps them in the history of the store.
//
//   TallyBook (a thread) ──about once a second──▶ TallyLedger ──every ten seconds──▶ History: a row per minute
//
// A row is the whole minute of one process, and is written again until the minute is over; so what a crash can lose is
// what was counted in the last ten seconds. Rows of several processes add up. Minutes become hours, and hours days
// (tally_rollup.h).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "store/history.h"
#include "telemetry/tally.h"
#include "telemetry/tally_book.h"
#include "telemetry/top_scopes.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::telemetry {

inline constexpr std::string_view tally_by_route = "route";  // subjects in the history
inline constexpr std::string_view tally_by_scope = "scope";
inline constexpr Millis tally_minute{60'000};
inline constexpr Millis tally_hour{60 * tally_minute};
inline constexpr Millis tally_day{24 * tally_hour};
inline constexpr std::size_t tally_bytes_max = store::history_value_bytes_max;

// The beginning of the minute, hour or day of a time.
inline Time slot_of(Time at, Millis step) {
  return Time{Millis{at.time_since_epoch().count() / step.count() * step.count()}};
}

class TallyLedger {
 public:
  static constexpr std::size_t minutes_max = 30;  // that wait for a store that does not answer; then the oldest goes

  // `process` must differ from process to process, and is not 0.
  explicit TallyLedger(std::uint64_t process) : process_(process) {}

  // Takes what a thread has counted, and clears it. From any thread.
  void take(TallyBook& book, Time now);

  // Writes what has changed, and forgets the minutes that are over. One caller at a time.
  Async<void> write(store::History* history, Time now);

  // What is not over yet, by minutes from `from` on. From any thread.
  [[nodiscard]] std::map<Time, TallyTable> unfinished(std::string_view by, Time from) const;
  // Whether unfinished() has all of this row.
  [[nodiscard]] bool holds(const store::HistoryRow& row) const;

 private:
  struct Minute {
    TallyTable routes;
    TopScopes scopes;
    bool changed = false;
  };

  [[nodiscard]] std::vector<store::HistoryRow> changed_rows();
  void finish(Time now);

  const std::uint64_t process_;
  mutable std::mutex mutex_;
  std::map<Time, Minute> minutes_;
};

// The scopes of a minute as a table, by their short hashes.
TallyTable table_of(const TopScopes& scopes);

}  // namespace semel::telemetry
