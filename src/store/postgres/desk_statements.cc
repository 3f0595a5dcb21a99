// A list has two stages (schema_2_desk.cc). Its cursor names the stage in front of the place.
#include "store/postgres/desk_statements.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <libpq-fe.h>

#include "core/codec.h"
#include "core/settlement.h"
#include "store/audit_log.h"
#include "store/call.h"
#include "store/cursor.h"
#include "store/desk.h"
#include "store/postgres/connection.h"
#include "store/postgres/parameters.h"
#include "store/postgres/rows.h"
#include "store/postgres/sql.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {
namespace {

// A page should be there within 50 ms, also from a server that has much to do. A list that has not ended goes on with
// the next page.
constexpr Millis page_time_max{15};
static_assert(page_time_max <= list_time_max);

constexpr std::int64_t beginning = std::numeric_limits<std::int64_t>::min();  // PostgreSQL's -infinity

// Where a list goes on: which of its two stages, and behind which row.
struct ListStage {
  std::int64_t number = 0;
  std::optional<ListPlace> behind;
};

std::optional<ListStage> stage_of(const std::string& cursor) {
  if (!cursor.starts_with("0:") && !cursor.starts_with("1:")) return std::nullopt;
  const std::optional<ListPlace> place = from_cursor(std::string_view(cursor).substr(2));
  if (!place) return std::nullopt;
  return ListStage{.number = cursor.front() - '0', .behind = place};
}

std::int64_t micros_of(Time time) {
  constexpr std::chrono::sys_days year_2000 = std::chrono::year(2000) / 1 / 1;
  return std::chrono::duration_cast<std::chrono::microseconds>(time - Time(year_2000)).count();
}

Parameters opening(const Link& link, Millis patience) {
  Parameters parameters;
  parameters.add(link.standing);
  parameters.add(static_cast<std::int32_t>(patience.count()));
  return parameters;
}

std::string text_of(const Digest& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

template <class Value>
Array one(Element element, const Value& value) {
  Array array(element, 1);
  array.add(value);
  return array;
}

bool send_find(const Link& link, const FindCall& call, Millis patience) {
  std::string first = call.id_begins;
  std::string last = call.id_begins;
  first.resize(sizeof(Digest), '\0');
  last.resize(sizeof(Digest), '\xff');
  Parameters parameters = opening(link, patience);
  parameters.add_bytes(std::move(first));
  parameters.add_bytes(std::move(last));
  parameters.add(static_cast<std::int64_t>(call.limit));
  return parameters.send(link, find_sql);
}

bool send_list(const Link& link, const ListCall& call, Millis patience) {
  const KeyFilter& filter = call.filter;
  const bool unknown = filter.wanted == KeyFilter::Wanted::unknown;
  ListStage stage = stage_of(call.cursor).value_or(ListStage{});
  if (!unknown) stage.number = 1;
  Parameters parameters = opening(link, patience);
  parameters.add_flag(unknown ? 1 : 0);
  if (filter.space) parameters.add(*filter.space);
  if (!filter.space) parameters.add_null_text();
  if (filter.scope) parameters.add_bytes({reinterpret_cast<const char*>(filter.scope->data()), filter.scope->size()});
  if (!filter.scope) parameters.add_null_bytes();
  parameters.add(static_cast<std::int64_t>(filter.older.count()));
  parameters.add(stage.number);
  parameters.add_time(stage.behind ? micros_of(stage.behind->at) : beginning);
  parameters.add_bytes(stage.behind ? text_of(stage.behind->id) : std::string());
  parameters.add(static_cast<std::int64_t>(filter.items_max));
  parameters.add(static_cast<std::int64_t>(looks_max));
  parameters.add(static_cast<std::int64_t>(page_time_max.count()));
  return parameters.send(link, list_sql);
}

bool send_settle(const Link& link, const Key& key, const SettleCall& call, Millis patience) {
  const core::Settlement& by = call.settlement;
  Array responses(Element::bytea, 1);
  if (by.response == nullptr) {
    responses.add_null();
  } else {
    Record record;
    record.key.id = key.id;
    record.state = Record::State::done;
    record.fence = {.number = by.fence.number, .owner = by.act};
    record.response = by.response;
    responses.add(core::encode(record));
  }
  Parameters parameters = opening(link, patience);
  parameters.add(one(Element::bytea, std::string_view(text_of(key.id))));
  parameters.add(one(Element::int8, static_cast<std::int64_t>(by.fence.number)));
  parameters.add(one(Element::int8, static_cast<std::int64_t>(by.fence.owner)));
  parameters.add(one(Element::int8, static_cast<std::int64_t>(by.verdict)));
  parameters.add(std::move(responses));
  parameters.add(one(Element::int8, static_cast<std::int64_t>(by.act)));
  return parameters.send(link, settle_sql);
}

void read_find(const PGresult* reply, FindCall& call) {
  const int rows = PQntuples(reply);
  std::vector<Held> found;
  for (int row = 0; row < rows; ++row) {
    Result<std::optional<Held>> seen = seen_row(reply, row);
    if (!seen && rows == 1) {
      call.answer = std::unexpected(std::move(seen.error()));
      return;
    }
    if (!seen) continue;
    std::optional<Held>& held = *seen;
    if (held) found.push_back(*std::move(held));
  }
  call.answer = std::move(found);
}

void read_list(const PGresult* reply, ListCall& call) {
  KeyList list;
  for (int row = 0; row < PQntuples(reply); ++row) {
    if (const std::optional<ListEnd> end = list_end(reply, row)) {
      list.searched_to = end->searched_to;
      if (end->next) list.cursor = std::to_string(end->stage) + ":" + to_cursor(*end->next);
      continue;
    }
    Result<std::optional<Held>> seen = seen_row(reply, row);
    if (!seen) continue;
    std::optional<Held>& held = *seen;
    if (held) list.items.push_back(*std::move(held));
  }
  call.answer = std::move(list);
}

bool send_append(const Link& link, const AppendCall& call, Millis patience) {
  Parameters parameters = opening(link, patience);
  parameters.add(call.text);
  parameters.add(static_cast<std::int64_t>(call.token));
  return parameters.send(link, append_sql);
}

bool send_audit(const Link& link, const AuditCall& call, Millis patience) {
  Parameters parameters = opening(link, patience);
  parameters.add(static_cast<std::int64_t>(call.after));
  parameters.add(static_cast<std::int64_t>(call.limit));
  return parameters.send(link, audit_sql);
}

std::vector<AuditEntry> entries_in(const PGresult* reply) {
  std::vector<AuditEntry> entries;
  for (int row = 0; row < PQntuples(reply); ++row) {
    AuditEntry& entry = entries.emplace_back();
    entry.number = static_cast<std::uint64_t>(number_of(value_of(reply, row, 0)));
    const std::string_view hash = value_of(reply, row, 1);
    if (hash.size() == entry.hash.size()) std::ranges::copy(hash, entry.hash.begin());
    entry.text = value_of(reply, row, 2);
  }
  return entries;
}

}  // namespace

bool is_cursor(const std::string& cursor) {
  return cursor.empty() || stage_of(cursor).has_value();
}

bool send_desk(const Link& link, const StoreCall& call, Millis patience) {
  if (const auto* find = std::get_if<FindCall>(&call.request)) return send_find(link, *find, patience);
  if (const auto* list = std::get_if<ListCall>(&call.request)) return send_list(link, *list, patience);
  if (const auto* append = std::get_if<AppendCall>(&call.request)) return send_append(link, *append, patience);
  if (const auto* audit = std::get_if<AuditCall>(&call.request)) return send_audit(link, *audit, patience);
  return send_settle(link, call.key, std::get<SettleCall>(call.request), patience);
}

void read_desk(const PGresult* reply, StoreCall& call) {
  if (auto* find = std::get_if<FindCall>(&call.request)) read_find(reply, *find);
  if (auto* list = std::get_if<ListCall>(&call.request)) read_list(reply, *list);
  if (auto* audit = std::get_if<AuditCall>(&call.request)) audit->answer = entries_in(reply);
  auto* const append = std::get_if<AppendCall>(&call.request);
  if (append == nullptr) return;
  std::vector<AuditEntry> added = entries_in(reply);
  if (!added.empty()) append->answer = std::move(added.front());
}

}  // namespace semel::store::postgres
