// Look-ups go to the store many at a time, so that a store on a server answers them in batches.
#include "auditor/key_look.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

#include "auditor/blocking.h"
#include "auditor/comparison.h"
#include "auditor/finding.h"
#include "auditor/window.h"
#include "config/audit.h"
#include "core/encoding.h"
#include "store/history.h"
#include "store/key_roll.h"
#include "store/lookup.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::auditor {
namespace {

constexpr std::size_t at_once = 512;
constexpr std::size_t events_max = 10;  // of a timeline
constexpr std::chrono::days timeline_kept{30};

KeyState state_of(const std::optional<Held>& held) {
  if (!held) return KeyState::absent;
  switch (held->record.state) {
    case Record::State::running:
      return KeyState::running;
    case Record::State::done:
      return KeyState::done;
    case Record::State::unknown:
      return KeyState::unknown;
    default:
      return KeyState::free;
  }
}

std::string_view state_text(KeyState state) {
  constexpr std::array<std::string_view, 5> texts{"not there", "free", "running", "unknown", "done"};
  return texts.at(static_cast<std::size_t>(state));
}

Key key_of(const Digest& id, const std::string& space) {
  return {.id = id, .scope = {}, .space = space};
}

std::uint64_t beginning_of(const Digest& id) {
  std::uint64_t beginning = 0;
  std::memcpy(&beginning, id.data(), sizeof(beginning));
  return beginning;
}

// What many look-ups share. All of it is used on one thread.
struct Looking {
  store::Lookup& lookup;
  const Comparison& comparison;
  const std::string& space;
  const Digest& plant;
  std::vector<KeyState>& states;
  std::size_t next = 0;
  std::optional<Error> failed{};
};

Task<void> look(Looking* looking) {
  while (looking->next < looking->states.size() && !looking->failed) {
    std::vector<std::size_t> places;
    std::vector<Key> keys;
    while (looking->next < looking->states.size() && keys.size() < looking->lookup.together_max()) {
      const std::size_t at = looking->next++;
      const Digest& id = looking->comparison.key(at);
      if (looking->comparison.is_keyless(at)) continue;
      if (id == looking->plant) looking->states[at] = KeyState::done;
      if (id == looking->plant) continue;
      places.push_back(at);
      keys.push_back(key_of(id, looking->space));
    }
    const auto found = co_await looking->lookup.look_up_together(std::move(keys));
    if (!found) looking->failed = found.error();
    if (!found) co_return;
    for (std::size_t i = 0; i < places.size(); ++i) looking->states[places[i]] = state_of((*found)[i]);
  }
}

// Of an event of a timeline, what tells how often and where a key ran; nothing of who asked.
std::string event_text(const store::HistoryRow& row) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(row.value, error);
  if (error || !value.is_object()) return {};
  boost::json::object event{{"at", audit_time(row.at)}};
  for (const std::string_view member : {"event", "node", "fence", "route", "upstream", "status", "outcome", "count"}) {
    if (const boost::json::value* const found = value.get_object().if_contains(member)) event[member] = *found;
  }
  std::string text = boost::json::serialize(event);
  if (text.size() <= evidence_event_bytes_max) return text;
  for (const std::string_view named : {"node", "route", "upstream", "outcome"}) event.erase(named);
  text = boost::json::serialize(event);
  return text.size() <= evidence_event_bytes_max ? text : std::string();
}

void add_timeline(store::History& history, const Digest& named, Time now, std::vector<std::string>& seen) {
  const std::string subject(named.begin(), named.end());
  const store::HistorySpan span{.from = now - timeline_kept, .to = now + std::chrono::days{1}};
  for (const store::HistoryKind kind : {store::HistoryKind::plain_run, store::HistoryKind::sighting}) {
    const auto rows = wait_for(history.read(kind, subject, span, events_max));
    if (!rows) continue;  // it is telemetry, and the finding counts without it
    for (const store::HistoryRow& row : *rows) {
      std::string event = event_text(row);
      if (!event.empty() && seen.size() < events_max) seen.push_back(std::move(event));
    }
  }
}

}  // namespace

Result<std::vector<KeyState>> states_of(const KeySources& sources, const Comparison& comparison,
                                        const std::string& space, const Digest& plant) {
  std::vector<KeyState> states(comparison.keys(), KeyState::absent);
  Looking looking{.lookup = sources.lookup, .comparison = comparison, .space = space, .plant = plant, .states = states};
  boost::asio::io_context context(1);
  const std::size_t callers = at_once / sources.lookup.together_max();
  for (std::size_t i = 0; i < std::min(callers, states.size()); ++i) {
    boost::asio::co_spawn(context.get_executor(), look(&looking), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
  }
  context.run();
  if (looking.failed) return std::unexpected(*std::move(looking.failed));
  return states;
}

Result<KeyEvidence> evidence_of(const KeySources& sources, const Digest& key, const std::string& space, Time now) {
  const Result<std::optional<Held>> found = wait_for(sources.lookup.look_up(key_of(key, space)));
  if (!found) return std::unexpected(found.error());
  const std::optional<Held>& held = *found;
  const Digest named = sources.desk == nullptr ? key : sources.desk->named(key_of(key, space)).id;
  KeyEvidence evidence;
  evidence.id = core::to_hex(named);
  evidence.state = state_text(state_of(held));
  if (held) evidence.fence = held->record.fence.number;
  if (held) evidence.claimed_at = held->record.claimed_at;
  if (sources.history != nullptr) add_timeline(*sources.history, named, now, evidence.seen);
  return evidence;
}

namespace {

// The beginnings of the ids that the store has for the keys with effects, in order.
std::vector<std::uint64_t> names_of(const KeySources& sources, const Comparison& comparison, const std::string& space) {
  std::vector<std::uint64_t> names;
  names.reserve(comparison.keys());
  for (std::size_t i = 0; i < comparison.keys(); ++i) {
    if (!comparison.is_keyless(i))
      names.push_back(beginning_of(sources.desk->named(key_of(comparison.key(i), space)).id));
  }
  std::ranges::sort(names);
  return names;
}

// Whether the key is as it should be for its effect to be missed; nothing if it is not.
Result<std::optional<MissingKey>> missed(const KeySources& sources, const Digest& id, Time now) {
  const Result<std::vector<Held>> found =
      wait_for(sources.desk->find({reinterpret_cast<const char*>(id.data()), id.size()}, 1));
  if (!found) return std::unexpected(found.error());
  if (found->empty()) return std::nullopt;
  const Record& record = found->front().record;
  const bool success = record.response != nullptr && record.response->status >= 200 && record.response->status < 300;
  if (record.state != Record::State::done || !success) return std::nullopt;
  MissingKey key{.id = id, .evidence = {}};
  key.evidence.id = core::to_hex(id);
  key.evidence.state = "done";
  key.evidence.fence = record.fence.number;
  key.evidence.claimed_at = record.claimed_at;
  if (sources.history != nullptr) add_timeline(*sources.history, id, now, key.evidence.seen);
  return key;
}

}  // namespace

Result<MissingLook> missing_keys(const KeySources& sources, const Comparison& comparison,
                                 const config::AuditConfig& audit, const AuditWindow& window,
                                 const std::vector<std::string>& waited_for, std::size_t limit) {
  MissingLook look;
  const std::vector<std::uint64_t> names = names_of(sources, comparison, audit.space);
  const auto has_effect = [&](std::uint64_t name) { return std::ranges::binary_search(names, name); };
  for (const std::string& id : waited_for) {
    const std::string bytes = core::from_hex(id).value_or("");
    Digest digest{};
    if (bytes.size() != digest.size()) continue;
    std::ranges::copy(bytes, digest.begin());
    if (has_effect(beginning_of(digest))) look.came.push_back(id);
  }
  for (const Millis ttl : audit.ttls) {
    const store::RollSpan span{.from = window.missing_from + ttl, .to = window.settled + ttl, .space = audit.space};
    std::string cursor;
    do {
      Result<store::RollPage> page = wait_for(sources.roll->expiring(span, cursor));
      if (!page) return std::unexpected(std::move(page.error()));
      for (const store::RollEntry& entry : page->items) {
        const bool claimed = entry.claimed_at >= window.missing_from && entry.claimed_at < window.settled;
        const bool open = claimed && entry.state == Record::State::done && !has_effect(beginning_of(entry.id));
        if (!open || look.missing.size() >= limit) continue;
        Result<std::optional<MissingKey>> key = missed(sources, entry.id, window.to);
        if (!key) return std::unexpected(std::move(key.error()));
        std::optional<MissingKey>& found = *key;
        if (found) look.missing.push_back(*std::move(found));
      }
      cursor = std::move(page->cursor);
    } while (!cursor.empty());
  }
  return look;
}

Result<bool> same_request(const KeySources& sources, const Digest& one, const Digest& other, const std::string& space) {
  const Result<std::optional<Held>> first = wait_for(sources.lookup.look_up(key_of(one, space)));
  if (!first) return std::unexpected(first.error());
  const Result<std::optional<Held>> second = wait_for(sources.lookup.look_up(key_of(other, space)));
  if (!second) return std::unexpected(second.error());
  const std::optional<Held>& a = *first;
  const std::optional<Held>& b = *second;
  return a && b && a->record.fingerprint == b->record.fingerprint;
}

}  // namespace semel::auditor
