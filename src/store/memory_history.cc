#include "store/memory_history.h"

#include <cstddef>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/history.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {
namespace {

HistoryRow row_of(HistoryKind kind, const HistoryPlace& place, const std::string& value) {
  return {.kind = kind, .subject = place.subject, .at = place.at, .value = value, .number = place.number};
}

}  // namespace

Async<void> MemoryHistory::append(std::vector<HistoryRow> rows) {
  Result<std::vector<HistoryRow>> prepared = prepared_rows(std::move(rows));
  if (!prepared) co_return std::unexpected(std::move(prepared.error()));
  const std::scoped_lock lock(mutex_);
  for (HistoryRow& row : *prepared) {
    auto& kept = rows_[row.kind];
    const HistoryPlace place{.subject = std::move(row.subject), .at = row.at, .number = row.number};
    kept.insert_or_assign(place, std::move(row.value));
    if (kept.size() > kept_max) kept.erase(kept.begin());
  }
  co_return Result<void>();
}

Async<std::vector<HistoryRow>> MemoryHistory::read(HistoryKind kind, std::string subject, HistorySpan span,
                                                   std::size_t limit) {
  const std::scoped_lock lock(mutex_);
  std::vector<HistoryRow> found;
  for (const auto& [place, value] : rows_[kind]) {
    if (found.size() >= limit) break;
    if (place.subject == subject && span.holds(place.at)) found.push_back(row_of(kind, place, value));
  }
  co_return found;
}

Async<HistoryPage> MemoryHistory::scan(HistoryKind kind, HistorySpan span, std::string cursor, std::size_t limit) {
  const std::optional<HistoryPlace> from = from_history_cursor(cursor);
  if (!from && !cursor.empty()) co_return fail(Code::invalid, "cursor: it is not one that a scan has returned");
  const std::scoped_lock lock(mutex_);
  HistoryPage page;
  const auto& kept = rows_[kind];
  for (auto at = from ? kept.upper_bound(*from) : kept.begin(); at != kept.end(); ++at) {
    if (!span.holds(at->first.at)) continue;
    if (page.rows.size() >= limit) {
      const HistoryRow& last = page.rows.back();
      page.cursor = to_history_cursor({.subject = last.subject, .at = last.at, .number = last.number});
      break;
    }
    page.rows.push_back(row_of(kind, at->first, at->second));
  }
  co_return page;
}

Async<void> MemoryHistory::prune(HistoryKind kind, Time before) {
  const std::scoped_lock lock(mutex_);
  auto& kept = rows_[kind];
  while (!kept.empty() && history_day(kept.begin()->first.at) < history_day(before)) kept.erase(kept.begin());
  co_return Result<void>();
}

}  // namespace semel::store
