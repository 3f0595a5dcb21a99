// What operators do to a delivery, and what is dropped when its time has come.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_book.h"
#include "store/inbox_codec.h"
#include "store/inbox_desk.h"
#include "store/inbox_table.h"
#include "store/inbox_unread.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {
namespace {

constexpr Millis blocked_again_after{3'600'000};

// What is known of the newest of an object, if its time has come.
Result<void> drop_newest(InboxTable& table, const std::string& key, Time now) {
  const Result<std::optional<std::string>> read = table.get(key);
  if (!read) return std::unexpected(read.error());
  const std::optional<std::string>& newest = *read;
  if (newest && newest->substr(0, 8) <= time_bytes(now)) table.erase(key);
  return {};
}

bool allows(DeliveryState state, DeliveryChange::What what) {
  switch (what) {
    case DeliveryChange::What::redeliver:
      return state != DeliveryState::running;
    case DeliveryChange::What::discard:
      return state == DeliveryState::waiting || state == DeliveryState::dead || state == DeliveryState::unknown;
    case DeliveryChange::What::confirm:
      break;
  }
  return state == DeliveryState::unknown;
}

}  // namespace

void apply_change(DeliveryRecord& delivery, const DeliveryChange& change, Time now) {
  delivery.changed = now;
  delivery.why = change.reason;
  delivery.in_line = false;
  if (change.what == DeliveryChange::What::confirm) {
    delivery.state = DeliveryState::done;
    return;
  }
  if (change.what == DeliveryChange::What::discard) {
    delivery.state = DeliveryState::discarded;
    return;
  }
  delivery.state = DeliveryState::waiting;
  delivery.urgency = Urgency::replay;
  delivery.due = now;
  delivery.since = now;
  delivery.tries = 0;
}

Result<AcceptedEvent> InboxBook::change(InboxTable& table, const DeliveryChange& change, Time now) {
  Result<std::optional<AcceptedEvent>> read = read_event(table, change.id);
  if (!read) return std::unexpected(std::move(read.error()));
  std::optional<AcceptedEvent>& found = *read;
  if (!found) return fail(Code::invalid, "there is no such event");
  AcceptedEvent event = *std::move(found);
  DeliveryRecord* const delivery = delivery_to(event, change.to);
  if (delivery == nullptr) return fail(Code::invalid, "the event does not go to " + change.to);
  if (!allows(delivery->state, change.what)) {
    return fail(Code::fenced, "the delivery is " + std::string(name(delivery->state)));
  }
  if (change.what == DeliveryChange::What::redeliver && event.bytes == 0) {
    return fail(Code::invalid, "what the event came with is not kept any more");
  }
  const DeliveryRecord from = *delivery;
  apply_change(*delivery, change, now);
  if (change.what == DeliveryChange::What::redeliver) delivery->job = 0;
  const Result<void> stored = store(table, event, *delivery, from, change.retain_ended, now);
  if (!stored) return std::unexpected(stored.error());
  return event;
}

Result<bool> InboxBook::erase(InboxTable& table, const core::EventId& id, const std::string& reason, Time now) {
  Result<std::optional<AcceptedEvent>> read = read_event(table, id);
  if (!read) return std::unexpected(std::move(read.error()));
  std::optional<AcceptedEvent>& found = *read;
  if (!found || found->bytes == 0) return false;
  AcceptedEvent event = *std::move(found);
  const auto runs = [](const DeliveryRecord& each) { return each.state == DeliveryState::running; };
  if (std::ranges::any_of(event.deliveries, runs)) return fail(Code::fenced, "one of its deliveries is running");
  drop_parcel(table, event);
  for (DeliveryRecord& delivery : event.deliveries) {
    if (has_ended(delivery.state)) continue;
    const DeliveryRecord from = delivery;
    delivery.state = DeliveryState::discarded;
    delivery.in_line = false;
    delivery.changed = now;
    delivery.why = reason;
    const Result<void> stored = store(table, event, delivery, from, Millis{0}, now);
    if (!stored) return std::unexpected(stored.error());
  }
  plan_drop(table, event, std::max(event.expires_at, now));
  table.put(event_key(id), encode_event(event));
  return true;
}

void InboxBook::drop_parcel(InboxTable& table, AcceptedEvent& event) {
  table.erase(parcel_key(event.id));
  figures_.kept_bytes(event, -static_cast<std::int64_t>(event.bytes));
  event.bytes = 0;
}

Result<std::size_t> InboxBook::sweep(InboxTable& table, std::size_t limit, Time now) {
  struct Due {
    std::string key;
    std::string value;
    TimedKey entry;
  };
  std::vector<Due> due;
  std::optional<std::string> stays;  // the first key that does
  const auto see = [&](std::string_view key, std::string_view value) {
    const std::optional<TimedKey> entry = timed_key(key);
    if (!entry) return true;
    const bool over = entry->at > now || due.size() >= limit;
    if (!over && !unread_.rests_until(entry->id, now)) {
      due.push_back({.key = std::string(key), .value = std::string(value), .entry = *entry});
      return true;
    }
    if (!stays) stays = std::string(key);
    return !over;
  };
  const Result<void> walked = table.walk(queues_.begin(drop_prefix), drop_prefix, see);
  if (!walked) return std::unexpected(walked.error());
  queues_.begins_at(drop_prefix, stays ? *std::move(stays) : std::string(drop_prefix) + time_bytes(now));
  for (const Due& each : due) {
    const Savepoint before = savepoint(table);
    table.erase(each.key);
    const Result<void> dropped =
        each.value.empty() ? drop(table, each.entry.id, each.entry.at, now) : drop_newest(table, each.value, now);
    if (dropped) continue;
    go_back(table, before);
    unread_.note(InboxUnread::name_of(each.entry.id), dropped.error(), now);
  }
  return due.size();
}

// What the event came with, and then, when its key has expired, the event.
Result<void> InboxBook::drop(InboxTable& table, const core::EventId& id, Time at, Time now) {
  Result<std::optional<AcceptedEvent>> read = read_event(table, id);
  if (!read) return std::unexpected(std::move(read.error()));
  std::optional<AcceptedEvent>& found = *read;
  if (!found) return {};
  AcceptedEvent event = *std::move(found);
  const bool over =
      std::ranges::all_of(event.deliveries, [](const DeliveryRecord& each) { return has_ended(each.state); });
  if (!over || event.drop_at != at) return {};  // it has been sent again since
  if (event.bytes > 0) drop_parcel(table, event);
  const auto is_dead = [](const DeliveryRecord& each) { return each.state == DeliveryState::dead; };
  const bool blocks = event.line.blocks && std::ranges::any_of(event.deliveries, is_dead);  // until an operator acts
  if (event.expires_at <= now && !blocks) {
    table.erase(event_key(id));
    return {};
  }
  plan_drop(table, event, std::max(event.expires_at, blocks ? now + blocked_again_after : event.expires_at));
  table.put(event_key(id), encode_event(event));
  return {};
}

}  // namespace semel::store
