#include "telemetry/finding_past.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/history.h"
#include "telemetry/finding.h"
#include "telemetry/tally_ledger.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::telemetry {
namespace {

constexpr std::size_t written_max = 1'000;
constexpr std::size_t read_max = 10'000;
constexpr std::size_t page_rows = 1'000;

}  // namespace

Async<void> write_findings(store::History* history, std::vector<Finding> findings, std::uint64_t process, Time now) {
  std::vector<store::HistoryRow> rows;
  for (const Finding& finding : findings) {
    if (rows.size() >= written_max) break;
    rows.push_back({.kind = store::HistoryKind::finding,
                    .subject = finding.id(),
                    .at = slot_of(now, tally_hour),
                    .value = encode(finding),
                    .number = process});
  }
  if (rows.empty()) co_return Result<void>();
  co_return co_await history->append(std::move(rows));
}

Async<std::vector<Finding>> read_findings(store::History* history, store::HistorySpan span) {
  std::vector<Finding> found;
  std::string cursor;
  for (std::size_t read = 0; read < read_max;) {
    Result<store::HistoryPage> page =
        co_await history->scan(store::HistoryKind::finding, span, std::move(cursor), page_rows);
    if (!page) co_return std::unexpected(std::move(page.error()));
    for (const store::HistoryRow& row : page->rows) {
      std::optional<Finding> finding = decode_finding(row.value);
      if (finding) found.push_back(*std::move(finding));
    }
    read += page->rows.size();
    cursor = std::move(page->cursor);
    if (cursor.empty()) break;
    if (found.size() > page_rows) found = merged(std::move(found));
  }
  co_return merged(std::move(found));
}

}  // namespace semel::telemetry
