// Reads go over the desk's own connections, on its own thread; writes go through the driver.
#include "store/redis/desk.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/encoding.h"
#include "core/seal.h"
#include "core/settlement.h"
#include "core/transition.h"
#include "store/audit_log.h"
#include "store/call.h"
#include "store/cursor.h"
#include "store/desk.h"
#include "store/identity.h"
#include "store/redis/asker.h"
#include "store/redis/index_walk.h"
#include "store/redis/layout.h"
#include "store/redis/resp.h"
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

std::string_view view(const Digest& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

// The id as it stands in the name of a record. Within a millisecond a list goes by it.
std::string_view letters_in(std::string_view name) {
  return name.substr(std::min(name.find('}') + 1, name.size()));
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

Result<RespValue> RedisDesk::ask(std::size_t bucket, std::initializer_list<std::string_view> words) {
  std::string text;
  append_command(text, words);
  Result<std::vector<RespValue>> replies = asker_.ask({{.bucket = bucket, .text = std::move(text)}});
  if (!replies) return std::unexpected(std::move(replies.error()));
  return std::move(replies->front());
}

// Records under these names that are there and have not expired; without large answers.
Result<std::vector<Held>> RedisDesk::look_at(const std::vector<std::string>& names, Time& at) {
  std::vector<BucketCommand> commands(names.size() + 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    commands[i].bucket = buckets_.of_tag(tag_in(names[i]));
    append_command(commands[i].text, {"GET", names[i]});
  }
  commands.back().bucket = buckets_.first();
  append_command(commands.back().text, {"TIME"});
  const Result<std::vector<RespValue>> replies = asker_.ask(commands);
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

// An id alone does not say where its home is, if it has one: then it may be in any bucket.
Result<RedisDesk::Whereabouts> RedisDesk::locate(const Digest& id) {
  const Whereabouts usual{.id = id, .bucket = buckets_.of(Key{.id = id, .scope = {}, .space = {}})};
  if (buckets_.count() == 1) return usual;
  const Result<RespValue> there = ask(usual.bucket, {"EXISTS", record_name(id, buckets_.tag(usual.bucket))});
  if (!there) return std::unexpected(there.error());
  if (there->number != 0) return usual;
  std::vector<BucketCommand> commands(buckets_.count());
  for (std::size_t bucket = 0; bucket < commands.size(); ++bucket) {
    commands[bucket].bucket = bucket;
    append_command(commands[bucket].text, {"EXISTS", record_name(id, buckets_.tag(bucket))});
  }
  const Result<std::vector<RespValue>> replies = asker_.ask(commands);
  if (!replies) return std::unexpected(replies.error());
  const auto found = std::ranges::find_if(*replies, [](const RespValue& reply) { return reply.number != 0; });
  if (found == replies->end()) return usual;
  return Whereabouts{.id = id, .bucket = static_cast<std::size_t>(found - replies->begin())};
}

Result<void> RedisDesk::search_one(std::size_t bucket, const std::string& id_begins, std::vector<Whereabouts>& found) {
  const std::string pattern = names_beginning(id_begins);
  const Time end = clock_.now() + search_max;
  std::string cursor = "0";
  do {
    const Result<RespValue> reply = ask(bucket, {"SCAN", cursor, "MATCH", pattern, "COUNT", search_step});
    if (!reply) return std::unexpected(reply.error());
    const std::vector<RespValue>& page = reply->items;
    if (page.size() != 2) return fail(Code::unavailable, "Redis has answered SCAN in a way that is not known here");
    for (const RespValue& item : page[1].items) {
      const std::optional<Digest> id = id_in(item.text);
      const bool fits = id && !item.text.ends_with(":e") &&
                        std::string_view(reinterpret_cast<const char*>(id->data()), id->size()).starts_with(id_begins);
      if (!fits) continue;
      const Whereabouts one{.id = *id, .bucket = buckets_.of_tag(tag_in(item.text))};
      if (std::ranges::find(found, one) == found.end()) found.push_back(one);
    }
    cursor = page[0].text;
    if (cursor != "0" && clock_.now() > end) {
      return fail(Code::invalid,
                  "Redis has no index of ids, and too many keys to go through; give the key, or its whole id");
    }
  } while (cursor != "0");
  return {};
}

// Records whose ids begin so.
Result<std::vector<RedisDesk::Whereabouts>> RedisDesk::search(const std::string& id_begins, std::size_t limit) {
  const Result<std::vector<std::size_t>> primaries = asker_.primaries();
  if (!primaries) return std::unexpected(primaries.error());
  std::vector<Whereabouts> found;
  for (const std::size_t bucket : *primaries) {
    Result<void> searched = search_one(bucket, id_begins, found);
    if (!searched) return std::unexpected(std::move(searched.error()));
    if (found.size() >= limit) break;
  }
  return found;
}

// The event that had its turn last of the object with this id. None if there is no such object.
Result<std::optional<Digest>> RedisDesk::last_event(const Whereabouts& object) {
  constexpr std::size_t event_at = 16;  // as scripts.cc has it
  const Result<RespValue> reply = ask(object.bucket, {"GET", record_name(object.id, buckets_.tag(object.bucket))});
  if (!reply) return std::unexpected(reply.error());
  const std::string& bytes = reply->text;
  Digest event{};
  if (bytes.size() < event_at + event.size() || bytes[1] != 'o') return std::optional<Digest>();
  std::ranges::copy(bytes.substr(event_at, event.size()), event.begin());
  return event;
}

Async<std::optional<Held>> RedisDesk::look(Whereabouts at) {
  StoreCall call{.key = {.id = at.id, .scope = {}, .space = {}, .home = buckets_.home(at.bucket)}, .request = {}};
  auto& request = call.request.emplace<LookCall>();
  co_await fleet_.submit(call);
  co_return std::move(request.answer);
}

Async<std::vector<Held>> RedisDesk::find(std::string id_begins, std::size_t limit) {
  Whereabouts one;
  const bool whole = id_begins.size() == one.id.size();
  if (whole) std::ranges::copy(id_begins, one.id.begin());
  Result<std::vector<Whereabouts>> ids = fail(Code::unavailable, "not searched");
  const auto work = [&] {
    if (!whole) {
      ids = search(id_begins, limit);
      return;
    }
    const Result<Whereabouts> located = locate(one.id);
    if (located) {
      ids = std::vector<Whereabouts>{*located};
    } else {
      ids = std::unexpected(located.error());
    }
  };
  co_await aside_.run(work);
  if (!ids) co_return std::unexpected(std::move(ids.error()));
  std::vector<Held> found;
  for (const Whereabouts& each : *ids) {
    Result<std::optional<Held>> looked = co_await look(each);
    if (!looked && ids->size() == 1) co_return std::unexpected(std::move(looked.error()));
    if (!looked) continue;
    std::optional<Held>& held = *looked;
    if (held && found.size() < limit) found.push_back(*std::move(held));
  }
  if (!whole || !found.empty()) co_return found;
  one = ids->front();
  Result<std::optional<Digest>> event = fail(Code::unavailable, "not asked");
  const auto ask_object = [&] { event = last_event(one); };
  co_await aside_.run(ask_object);
  if (!event) co_return std::unexpected(std::move(event.error()));
  const std::optional<Digest>& last = *event;
  if (!last) co_return found;
  one.id = *last;
  Result<std::optional<Held>> looked = co_await look(one);
  if (!looked) co_return std::unexpected(std::move(looked.error()));
  std::optional<Held>& held = *looked;
  if (held) found.push_back(*std::move(held));
  co_return found;
}

// The indexes are read from `cursor` on.
Result<KeyList> RedisDesk::list_now(const KeyFilter& filter, const std::string& cursor) {
  const std::optional<ListPlace> from = from_cursor(cursor);
  const auto first = from ? static_cast<double>(from->at.time_since_epoch().count()) : 0.0;
  const std::string past = from ? core::to_base64(view(from->id), core::Base64::url) : std::string();
  const Time end = clock_.now() + list_time_max;
  IndexWalk walk(asker_, buckets_, from ? std::to_string(from->at.time_since_epoch().count()) : "-inf");
  KeyList list;
  std::size_t looked = 0;
  for (;;) {
    const Result<std::vector<IndexEntry>> page = walk.next(list_step);
    if (!page) return std::unexpected(page.error());
    std::vector<std::string> names;
    for (const IndexEntry& entry : *page) {
      if (!from || entry.score != first || letters_in(entry.name) > past) names.push_back(entry.name);
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
    looked += page->size();
    list.searched_to = at;
    if (page->size() < list_step) return list;
    if (looked < looks_max && clock_.now() < end) continue;
    const std::optional<Digest> id = id_in(page->back().name);
    list.searched_to = Time{Millis{static_cast<Millis::rep>(page->back().score)}};
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
  Result<Whereabouts> located = fail(Code::unavailable, "not searched");
  const auto work = [&] { located = locate(id); };
  co_await aside_.run(work);
  if (!located) co_return std::unexpected(std::move(located.error()));
  const std::uint64_t home = buckets_.home(located->bucket);
  StoreCall call{.key = {.id = id, .scope = {}, .space = {}, .home = home}, .request = {}};
  auto& request = call.request.emplace<SettleCall>();
  request.settlement = std::move(settlement);
  co_await fleet_.submit(call);
  co_return std::move(request.answer);
}

Result<AuditEntry> RedisDesk::last_entry() {
  const Result<RespValue> reply = ask(buckets_.first(), {"LRANGE", audit_name, "-1", "-1"});
  if (!reply) return std::unexpected(reply.error());
  const std::vector<RespValue>& items = reply->items;
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
    co_await fleet_.submit(call);
    if (request.answer) co_return entry;
    if (request.answer.error().code != Code::fenced) co_return std::unexpected(std::move(request.answer.error()));
  }
  co_return fail(Code::unavailable, "others write to the audit log all the time");
}

Result<std::vector<AuditEntry>> RedisDesk::read_now(std::uint64_t after, std::size_t limit) {
  std::vector<AuditEntry> entries;
  if (limit == 0) return entries;
  const std::string last = std::to_string(after + limit - 1);
  const Result<RespValue> reply = ask(buckets_.first(), {"LRANGE", audit_name, std::to_string(after), last});
  if (!reply) return std::unexpected(reply.error());
  for (const RespValue& item : reply->items) {
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
