// The mutex is held for as long as one thread's second is added up.
#include "telemetry/tally_ledger.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/history.h"
#include "telemetry/tally.h"
#include "telemetry/tally_book.h"
#include "telemetry/top_scopes.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::telemetry {
namespace {

constexpr Millis handed_over_by{3'000};  // after the end of a minute every thread has handed over what it counted

}  // namespace

TallyTable table_of(const TopScopes& scopes) {
  constexpr unsigned bits_left_out = 16;  // of 64: six bytes are shown, as in the lines of the log
  TallyTable table;
  for (const TopScopes::Entry& entry : scopes.entries()) {
    TallySum& tally = table.of(fmt::format("{:012x}", entry.scope >> bits_left_out));
    for (std::size_t i = 0; i < tally_outcomes; ++i) tally.counts[i] += entry.counts[i];
  }
  return table;
}

void TallyLedger::take(TallyBook& book, Time now) {
  if (!book.used()) return;
  {
    const std::scoped_lock lock(mutex_);
    Minute& minute = minutes_[slot_of(now, tally_minute)];
    for (const auto& [route, tally] : book.routes()) {
      if (requests_in(tally.counts) > 0) minute.routes.of(route->label).merge(tally);
    }
    minute.scopes.merge(book.scopes());
    minute.changed = true;
    if (minutes_.size() > minutes_max) minutes_.erase(minutes_.begin());
  }
  book.clear();
}

std::vector<store::HistoryRow> TallyLedger::changed_rows() {
  const std::scoped_lock lock(mutex_);
  std::vector<store::HistoryRow> rows;
  for (auto& [at, minute] : minutes_) {
    if (!std::exchange(minute.changed, false)) continue;
    const auto add = [&](std::string_view by, const TallyTable& table) {
      rows.push_back({.kind = store::HistoryKind::tally_minute,
                      .subject = std::string(by),
                      .at = at,
                      .value = table.encode(tally_bytes_max),
                      .number = process_});
    };
    add(tally_by_route, minute.routes);
    if (!minute.scopes.entries().empty()) add(tally_by_scope, table_of(minute.scopes));
  }
  return rows;
}

void TallyLedger::finish(Time now) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(minutes_, [&](const auto& entry) {
    return !entry.second.changed && entry.first + tally_minute + handed_over_by <= now;
  });
}

Async<void> TallyLedger::write(store::History* history, Time now) {
  std::vector<store::HistoryRow> rows = changed_rows();
  if (!rows.empty()) {
    std::vector<Time> written;
    written.reserve(rows.size());
    for (const store::HistoryRow& row : rows) written.push_back(row.at);
    Result<void> appended = co_await history->append(std::move(rows));
    if (!appended) {
      const std::scoped_lock lock(mutex_);
      for (const Time at : written) {
        if (const auto found = minutes_.find(at); found != minutes_.end()) found->second.changed = true;
      }
      co_return appended;
    }
  }
  finish(now);
  co_return Result<void>();
}

std::map<Time, TallyTable> TallyLedger::unfinished(std::string_view by, Time from) const {
  const std::scoped_lock lock(mutex_);
  std::map<Time, TallyTable> tables;
  for (auto at = minutes_.lower_bound(from); at != minutes_.end(); ++at) {
    tables.emplace(at->first, by == tally_by_route ? at->second.routes : table_of(at->second.scopes));
  }
  return tables;
}

bool TallyLedger::holds(const store::HistoryRow& row) const {
  const std::scoped_lock lock(mutex_);
  return row.number == process_ && minutes_.contains(row.at);
}

}  // namespace semel::telemetry
