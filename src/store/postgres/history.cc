#include "store/postgres/history.h"

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/call.h"
#include "store/history.h"
#include "store/postgres/history_statements.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr int prune_calls_max = 200;  // of one prune(); the rest goes with the next one

}  // namespace

Async<void> PostgresHistory::append(std::vector<HistoryRow> rows) {
  Result<std::vector<HistoryRow>> prepared = prepared_rows(std::move(rows));
  if (!prepared) co_return std::unexpected(std::move(prepared.error()));
  StoreCall call;
  auto& request = call.request.emplace<NoteCall>();
  request.rows = *std::move(prepared);
  Result<void> asked = co_await driver_.submit(&call);
  if (!asked) co_return asked;
  co_return std::move(request.answer);
}

Async<std::vector<HistoryRow>> PostgresHistory::read(HistoryKind kind, std::string subject, HistorySpan span,
                                                     std::size_t limit) {
  PastCall past{.kind = kind, .subject = std::move(subject), .span = span, .cursor = {}, .limit = limit};
  Result<HistoryPage> page = co_await ask(std::move(past));
  if (!page) co_return std::unexpected(std::move(page.error()));
  co_return std::move(page->rows);
}

Async<HistoryPage> PostgresHistory::scan(HistoryKind kind, HistorySpan span, std::string cursor, std::size_t limit) {
  if (!cursor.empty() && !from_history_cursor(cursor)) {
    co_return fail(Code::invalid, "cursor: it is not one that a scan has returned");
  }
  PastCall past{.kind = kind, .subject = std::nullopt, .span = span, .cursor = std::move(cursor), .limit = limit};
  co_return co_await ask(std::move(past));
}

Async<HistoryPage> PostgresHistory::ask(PastCall past) {
  StoreCall call;
  auto& request = call.request.emplace<PastCall>(std::move(past));
  Result<void> asked = co_await driver_.submit(&call);
  if (!asked) co_return std::unexpected(std::move(asked.error()));
  co_return std::move(request.answer);
}

Async<void> PostgresHistory::prune(HistoryKind kind, Time before) {
  for (int calls = 0; calls < prune_calls_max; ++calls) {
    StoreCall call;
    auto& request = call.request.emplace<PruneCall>();
    request.kind = kind;
    request.before = before;
    Result<void> asked = co_await driver_.submit(&call);
    if (!asked) co_return asked;
    if (!request.answer) co_return std::unexpected(std::move(request.answer.error()));
    if (*request.answer < prune_rows) break;
  }
  co_return Result<void>();
}

}  // namespace semel::store::postgres
