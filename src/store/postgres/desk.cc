// An operator asks one thing at a time.
#include "store/postgres/desk.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include "core/seal.h"
#include "core/settlement.h"
#include "store/audit_log.h"
#include "store/call.h"
#include "store/cursor.h"
#include "store/desk.h"
#include "store/identity.h"
#include "store/key_roll.h"
#include "store/postgres/desk_statements.h"
#include "store/postgres/inbox_statements.h"
#include "store/postgres/parameters.h"
#include "store/postgres/sql.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {
namespace {

// Rows of other namespaces are only for the cursor.
RollPage roll_in(const PGresult* reply) {
  RollPage page;
  const int rows = PQntuples(reply);
  for (int row = 0; row < rows; ++row) {
    const std::string_view id = value_of(reply, row, 0);
    RollEntry entry;
    if (id.size() == entry.id.size()) std::ranges::copy(id, entry.id.begin());
    entry.state = static_cast<Record::State>(number_of(value_of(reply, row, 1)));
    entry.claimed_at = Time{Millis{number_of(value_of(reply, row, 2))}};
    entry.expires_at = Time{Millis{number_of(value_of(reply, row, 3))}};
    const std::string_view ours = value_of(reply, row, 4);
    if (row + 1 == rows && static_cast<std::size_t>(rows) == roll_page_max) {
      page.cursor = to_cursor({.at = entry.expires_at, .id = entry.id});
    }
    if (!ours.empty() && ours.front() != '\0') page.items.push_back(entry);
  }
  return page;
}

}  // namespace

Async<std::vector<Held>> PostgresDesk::find(std::string id_begins, std::size_t limit) {
  StoreCall call;
  auto& request = call.request.emplace<FindCall>();
  request.id_begins = std::move(id_begins);
  request.limit = limit;
  Result<void> asked = co_await driver_.submit(&call);
  if (!asked) co_return std::unexpected(std::move(asked.error()));
  co_return std::move(request.answer);
}

Async<KeyList> PostgresDesk::list(KeyFilter filter, std::string cursor) {
  if (!is_cursor(cursor)) co_return fail(Code::invalid, "cursor: it is not one that a list has returned");
  StoreCall call;
  auto& request = call.request.emplace<ListCall>();
  request.filter = std::move(filter);
  request.cursor = std::move(cursor);
  Result<void> asked = co_await driver_.submit(&call);
  if (!asked) co_return std::unexpected(std::move(asked.error()));
  co_return std::move(request.answer);
}

Async<void> PostgresDesk::settle(Digest id, core::Settlement settlement) {
  StoreCall call{.key = {.id = id, .scope = {}, .space = {}}, .request = {}};
  auto& request = call.request.emplace<SettleCall>();
  request.settlement = std::move(settlement);
  Result<void> asked = co_await driver_.submit(&call);
  if (!asked) co_return asked;
  if (request.answer || request.answer.error().code != Code::fenced) changed_(id);
  co_return std::move(request.answer);
}

Async<AuditEntry> PostgresDesk::append(std::string text) {
  StoreCall call;
  auto& request = call.request.emplace<AppendCall>();
  request.text = std::move(text);
  const core::Salt salt = random_salt();
  std::memcpy(&request.token, salt.data(), sizeof(request.token));
  Result<void> asked = co_await driver_.submit(&call);
  if (!asked) co_return std::unexpected(std::move(asked.error()));
  co_return std::move(request.answer);
}

Async<std::vector<AuditEntry>> PostgresDesk::read(std::uint64_t after, std::size_t limit) {
  StoreCall call;
  auto& request = call.request.emplace<AuditCall>();
  request.after = after;
  request.limit = limit;
  Result<void> asked = co_await driver_.submit(&call);
  if (!asked) co_return std::unexpected(std::move(asked.error()));
  co_return std::move(request.answer);
}

Async<RollPage> PostgresDesk::expiring(RollSpan span, std::string cursor) {
  const std::optional<ListPlace> after = from_cursor(cursor);
  if (!after && !cursor.empty()) co_return fail(Code::invalid, "cursor: it is not one that a roll has returned");
  const ListPlace behind = after.value_or(ListPlace{.at = span.from - Millis{1}, .id = {}});
  RollPage page;
  const auto fill = [&](Parameters& parameters) {
    parameters.add(static_cast<std::int64_t>(span.from.time_since_epoch().count()));
    parameters.add(static_cast<std::int64_t>(span.to.time_since_epoch().count()));
    parameters.add(span.space);
    parameters.add(static_cast<std::int64_t>(behind.at.time_since_epoch().count()));
    parameters.add_bytes({reinterpret_cast<const char*>(behind.id.data()), behind.id.size()});
    parameters.add(static_cast<std::int64_t>(roll_page_max));
  };
  const auto see = [&](const PGresult* reply) { page = roll_in(reply); };
  PlainStep step(roll_sql, fill, see);
  StoreCall call;
  auto& request = call.request.emplace<StepCall>();
  Result<void> asked = co_await driver_.submit(&call, &step);
  if (asked) asked = std::move(request.answer);
  if (!asked) co_return std::unexpected(std::move(asked.error()));
  co_return page;
}

}  // namespace semel::store::postgres
