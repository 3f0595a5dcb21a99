#include "store/postgres/desk.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "core/seal.h"
#include "core/settlement.h"
#include "store/audit_log.h"
#include "store/call.h"
#include "store/desk.h"
#include "store/identity.h"
#include "store/postgres/desk_statements.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {

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

}  // namespace semel::store::postgres
