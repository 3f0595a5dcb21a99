// Reads go over the desk's own connection, on its own thread; writes go through the driver.
#include "store/redis/desk.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/seal.h"
#include "core/settlement.h"
#include "core/transition.h"
#include "store/audit_log.h"
#include "store/call.h"
#include "store/cursor.h"
#include "store/desk.h"
#include "store/identity.h"
#include "store/redis/connection.h"
#include "store/redis/dialer.h"
#include "store/redis/layout.h"
#include "store/redis/resp.h"
#include "store/redis/server.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::redis {
namespace {

constexpr Millis search_max{2'000};
constexpr std::string_view search_step = "1000";
constexpr std::size_t list_step = 500;
constexpr int append_tries = 100;  // others may append at the same time

// An entry of the log: number, hash, random token, text. The token tells two entries with one text apart.
constexpr std::size_t entry_head = 8 + 32 + 8;

Result<AuditEntry> entry_of(std::string_view bytes) {
  AuditEntry entry;
  if (bytes.size() < entry_head) return fail(Code::corrupt, "the audit log in Redis is damaged");
  entry.number = number_at(bytes, 0);
  std::ranges::copy(bytes.substr(8, entry.hash.size()), entry.hash.begin());
  entry.text = bytes.substr(entry_head);
  return entry;
}

std::string entry_bytes(const AuditEntry& entry, std::uint64_t token) {
  std::string bytes = eight_bytes(entry.number);
  bytes.append(reinterpret_cast<const char*>(entry.hash.data()), entry.hash.size());
  return bytes.append(eight_bytes(token)).append(entry.text);
}

std::optional<Held> seen(std::string_view bytes, const Digest& id, Time at) {
  const Result<StoredValue> value = decode_value(bytes, id);
  return value ? core::step_look(&value->record, at) : std::nullopt;
}

Time time_of(const RespValue& reply) {
  if (reply.items.size() != 2) return {};
  const std::int64_t seconds = std::strtoll(reply.items[0].text.c_str(), nullptr, 10);
  const std::int64_t micros = std::strtoll(reply.items[1].text.c_str(), nullptr, 10);
  return Time{Millis{(seconds * 1'000) + (micros / 1'000)}};
}

}  // namespace

Result<RedisConnection*> RedisDesk::connect() {
  if (connection_) return &*connection_;
  Result<Admitted> admitted = connect_admitted(clock_, plan_);
  if (!admitted) return std::unexpected(std::move(admitted.error()));
  const Result<void> known = recognise(admitted->facts, plan_.marker);
  if (!known) return std::unexpected(known.error());
  return &connection_.emplace(std::move(admitted->connection));
}

// A connection that has been idle may have gone: the second time it is a new one.
Result<std::vector<RespValue>> RedisDesk::ask(const std::string& commands, std::size_t replies) {
  Result<std::vector<RespValue>> said = fail(Code::unavailable, "not asked");
  for (int tries = 0; tries < 2; ++tries) {
    const Result<RedisConnection*> connected = connect();
    if (!connected) return std::unexpected(connected.error());
    said = (*connected)->ask(clock_, commands, replies, plan_.time_max);
    if (said) break;
    connection_.reset();
  }
  if (!said) return said;
  for (const RespValue& each : *said) {
    if (each.is_error()) return std::unexpected(refusal_of(each));
  }
  return said;
}

// Records under these names that are there and have not expired; without large answers.
Result<std::vector<Held>> RedisDesk::look_at(const std::vector<std::string>& names, Time& at) {
  std::string commands;
  for (const std::string& name : names) append_command(commands, {"GET", name});
  append_command(commands, {"TIME"});
  const Result<std::vector<RespValue>> replies = ask(commands, names.size() + 1);
  if (!replies) return std::unexpected(replies.error());
  at = time_of(replies->back());
  std::vector<Held> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::optional<Digest> id = id_in(names[i]);
    if (!id || replies->at(i).kind != RespValue::Kind::text) continue;
    std::optional<Held> held = seen(replies->at(i).text, *id, at);
    if (held) found.push_back(*std::move(held));
  }
  return found;
}

// Ids of records that begin so.
Result<std::vector<Digest>> RedisDesk::search(const std::string& id_begins, std::size_t limit) {
  const std::string pattern = name_begins(id_begins) + "*";
  const Time end = clock_.now() + search_max;
  std::vector<Digest> ids;
  std::string cursor = "0";
  do {
    std::string command;
    append_command(command, {"SCAN", cursor, "MATCH", pattern, "COUNT", search_step});
    const Result<std::vector<RespValue>> replies = ask(command, 1);
    if (!replies) return std::unexpected(replies.error());
    const std::vector<RespValue>& page = replies->front().items;
    if (page.size() != 2) return fail(Code::unavailable, "Redis has answered SCAN in a way that is not known here");
    for (const RespValue& item : page[1].items) {
      const std::optional<Digest> id = id_in(item.text);
      const bool whole = id && item.text.ends_with('}') &&
                         std::string_view(reinterpret_cast<const char*>(id->data()), id->size()).starts_with(id_begins);
      if (whole && std::ranges::find(ids, *id) == ids.end()) ids.push_back(*id);
    }
    cursor = page[0].text;
    if (ids.size() >= limit) break;
    if (cursor != "0" && clock_.now() > end) {
      return fail(Code::invalid,
                  "Redis has no index of ids, and too many keys to go through; give the key, or its whole id");
    }
  } while (cursor != "0");
  return ids;
}

// The event that had its turn last of the object with this id. None if there is no such object.
Result<std::optional<Digest>> RedisDesk::last_event(const Digest& object) {
  constexpr std::size_t event_at = 16;  // as scripts.cc has it
  std::string command;
  append_command(command, {"GET", record_name(object)});
  const Result<std::vector<RespValue>> replies = ask(command, 1);
  if (!replies) return std::unexpected(replies.error());
  const std::string& bytes = replies->front().text;
  Digest event{};
  if (bytes.size() < event_at + event.size() || bytes[1] != 'o') return std::optional<Digest>();
  std::ranges::copy(bytes.substr(event_at, event.size()), event.begin());
  return event;
}

Async<std::optional<Held>> RedisDesk::look(Digest id) {
  StoreCall call{.key = {.id = id, .scope = {}, .space = {}}, .request = {}};
  auto& request = call.request.emplace<LookCall>();
  co_await driver_.submit(call);
  co_return std::move(request.answer);
}

Async<std::vector<Held>> RedisDesk::find(std::string id_begins, std::size_t limit) {
  std::vector<Digest> ids;
  Digest id{};
  const bool whole = id_begins.size() == id.size();
  if (whole) {
    std::ranges::copy(id_begins, id.begin());
    ids.push_back(id);
  } else {
    Result<std::vector<Digest>> searched = fail(Code::unavailable, "not searched");
    const auto work = [&] { searched = search(id_begins, limit); };
    co_await aside_.run(work);
    if (!searched) co_return std::unexpected(std::move(searched.error()));
    ids = *std::move(searched);
  }
  std::vector<Held> found;
  for (const Digest& each : ids) {
    Result<std::optional<Held>> looked = co_await look(each);
    if (!looked && ids.size() == 1) co_return std::unexpected(std::move(looked.error()));
    if (!looked) continue;
    std::optional<Held>& held = *looked;
    if (held && found.size() < limit) found.push_back(*std::move(held));
  }
  if (!whole || !found.empty()) co_return found;
  Result<std::optional<Digest>> event = fail(Code::unavailable, "not asked");
  const auto ask_object = [&] { event = last_event(id); };
  co_await aside_.run(ask_object);
  if (!event) co_return std::unexpected(std::move(event.error()));
  const std::optional<Digest>& last = *event;
  if (!last) co_return found;
  Result<std::optional<Held>> looked = co_await look(*last);
  if (!looked) co_return std::unexpected(std::move(looked.error()));
  std::optional<Held>& held = *looked;
  if (held) found.push_back(*std::move(held));
  co_return found;
}

// The index is read from `cursor` on, by the time of the claim and, within a millisecond, by name.
Result<KeyList> RedisDesk::list_now(const KeyFilter& filter, const std::string& cursor) {
  const std::optional<ListPlace> from = from_cursor(cursor);
  const std::string first = from ? std::to_string(from->at.time_since_epoch().count()) : "-inf";
  const std::string past = from ? record_name(from->id) : std::string();
  const Time end = clock_.now() + list_time_max;
  KeyList list;
  std::size_t looked = 0;
  for (;;) {
    std::string command;
    append_command(command, {"ZRANGEBYSCORE", index_name, first, "+inf", "WITHSCORES", "LIMIT", std::to_string(looked),
                             std::to_string(list_step)});
    const Result<std::vector<RespValue>> replies = ask(command, 1);
    if (!replies) return std::unexpected(replies.error());
    const std::vector<RespValue>& page = replies->front().items;
    std::vector<std::string> names;
    for (std::size_t i = 0; i + 1 < page.size(); i += 2) {
      if (!from || page[i + 1].text != first || page[i].text > past) names.push_back(page[i].text);
    }
    Time at;
    Result<std::vector<Held>> found = look_at(names, at);
    if (!found) return std::unexpected(std::move(found.error()));
    for (Held& held : *found) {
      if (!filter.takes(held, at)) continue;
      if (list.items.size() == filter.items_max) {
        const Record& last = list.items.back().record;
        list.cursor = to_cursor({.at = last.claimed_at, .id = last.key.id});
        list.searched_to = last.claimed_at;
        return list;
      }
      list.items.push_back(std::move(held));
    }
    looked += page.size() / 2;
    list.searched_to = at;
    if (page.size() / 2 < list_step) return list;
    if (looked < looks_max && clock_.now() < end) continue;
    const std::optional<Digest> id = id_in(page[page.size() - 2].text);
    list.searched_to = Time{Millis{std::strtoll(page.back().text.c_str(), nullptr, 10)}};
    if (id) list.cursor = to_cursor({.at = list.searched_to, .id = *id});
    return list;
  }
}

Async<KeyList> RedisDesk::list(KeyFilter filter, std::string cursor) {
  if (!cursor.empty() && !from_cursor(cursor)) {
    co_return fail(Code::invalid, "cursor: it is not one that a list has returned");
  }
  Result<KeyList> list = fail(Code::unavailable, "not listed");
  const auto work = [&] { list = list_now(filter, cursor); };
  co_await aside_.run(work);
  co_return list;
}

Async<void> RedisDesk::settle(Digest id, core::Settlement settlement) {
  StoreCall call{.key = {.id = id, .scope = {}, .space = {}}, .request = {}};
  auto& request = call.request.emplace<SettleCall>();
  request.settlement = std::move(settlement);
  co_await driver_.submit(call);
  co_return std::move(request.answer);
}

Result<AuditEntry> RedisDesk::last_entry() {
  std::string command;
  append_command(command, {"LRANGE", audit_name, "-1", "-1"});
  const Result<std::vector<RespValue>> replies = ask(command, 1);
  if (!replies) return std::unexpected(replies.error());
  const std::vector<RespValue>& items = replies->front().items;
  return items.empty() ? AuditEntry{} : entry_of(items.front().text);
}

// The hash is made here, since a script cannot. So the entry is written only if the one before it is still the last.
Async<AuditEntry> RedisDesk::append(std::string text) {
  std::uint64_t token = 0;
  const core::Salt salt = random_salt();
  std::memcpy(&token, salt.data(), sizeof(token));
  for (int tries = 0; tries < append_tries; ++tries) {
    Result<AuditEntry> last = fail(Code::unavailable, "not read");
    const auto work = [&] { last = last_entry(); };
    co_await aside_.run(work);
    if (!last) co_return last;
    AuditEntry entry{.number = last->number + 1, .hash = {}, .text = text};
    entry.hash = audit_hash(last->hash, entry.number, entry.text);
    StoreCall call;
    auto& request = call.request.emplace<AppendCall>();
    request.text = entry_bytes(entry, token);
    request.token = entry.number;
    co_await driver_.submit(call);
    if (request.answer) co_return entry;
    if (request.answer.error().code != Code::fenced) co_return std::unexpected(std::move(request.answer.error()));
  }
  co_return fail(Code::unavailable, "others write to the audit log all the time");
}

Result<std::vector<AuditEntry>> RedisDesk::read_now(std::uint64_t after, std::size_t limit) {
  std::vector<AuditEntry> entries;
  if (limit == 0) return entries;
  std::string command;
  append_command(command, {"LRANGE", audit_name, std::to_string(after), std::to_string(after + limit - 1)});
  const Result<std::vector<RespValue>> replies = ask(command, 1);
  if (!replies) return std::unexpected(replies.error());
  for (const RespValue& item : replies->front().items) {
    Result<AuditEntry> entry = entry_of(item.text);
    if (!entry) return std::unexpected(std::move(entry.error()));
    entries.push_back(*std::move(entry));
  }
  return entries;
}

Async<std::vector<AuditEntry>> RedisDesk::read(std::uint64_t after, std::size_t limit) {
  Result<std::vector<AuditEntry>> entries = fail(Code::unavailable, "not read");
  const auto work = [&] { entries = read_now(after, limit); };
  co_await aside_.run(work);
  co_return entries;
}

}  // namespace semel::store::redis
