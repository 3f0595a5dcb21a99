// Whose turn it is: taking what is due, ending an attempt, the order of an object, and what a dead process left.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_book.h"
#include "store/inbox_codec.h"
#include "store/inbox_line_fronts.h"
#include "store/inbox_table.h"
#include "store/inbox_unread.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store {
namespace {

constexpr std::size_t stale_lines_max = 64;  // that are cleared away while one looks for the first

// Whether it has a place in the line of its object.
bool stands_in_line(const AcceptedEvent& event, const DeliveryRecord& delivery) {
  if (!has_ended(delivery.state)) return true;
  return delivery.state == DeliveryState::dead && event.line.blocks;
}

// Whether it was accepted by this process. Its time does not tell: clocks are set back.
bool is_of(std::uint32_t holder, const core::EventId& id) {
  const core::EventId ours = core::EventId::make(id.accepted_at(), holder, 0);
  constexpr std::size_t behind_holder = 10;
  return std::ranges::equal(std::span(ours.bytes).first(behind_holder), std::span(id.bytes).first(behind_holder));
}

void sooner(std::optional<Time>& next, Time at) {
  next = next ? std::min(*next, at) : at;
}

// A key that has expired meanwhile may belong to another event. One that is damaged stays as it is, and blocked.
Result<void> answer_duplicates(KeyRecords& records, const AcceptedEvent& event, const SettleReply& answer) {
  const Result<const Record*> found = records.find_record(event.key);
  if (!found && found.error().code == Code::corrupt) return {};
  if (!found) return std::unexpected(found.error());
  const Record* const record = *found;
  const bool ours = record != nullptr && record->state == Record::State::done && record->expires_at == event.expires_at;
  if (!ours) return {};
  Record changed = *record;
  changed.response = answer(*record);
  records.put_record(std::move(changed));
  return {};
}

}  // namespace

Result<std::string> InboxBook::first_of_line(InboxReader& reader, const std::string& prefix) {
  if (std::optional<std::string> known = lines_.first(prefix)) return *std::move(known);
  std::vector<std::string> keys;
  const auto see = [&](std::string_view key, std::string_view) {
    keys.emplace_back(key);
    return keys.size() < InboxLineFronts::keys_max;
  };
  const Result<void> walked = reader.walk(lines_.begin(prefix), prefix, see);
  if (!walked) return std::unexpected(walked.error());
  std::string first = keys.empty() ? std::string() : keys.front();
  lines_.learn(prefix, std::move(keys));
  return first;
}

void InboxBook::stand_in_line(InboxTable& table, const AcceptedEvent& event, const std::string& to) {
  std::string key = line_key(to, event.line, event.id);
  lines_.added(line_prefix(to, event.line), key);
  table.put(std::move(key), {});
}

void InboxBook::leave_line(InboxTable& table, const std::string& prefix, std::string key) {
  lines_.erased(prefix, key);
  table.erase(std::move(key));
}

Result<bool> InboxBook::is_first_in_line(InboxReader& reader, const AcceptedEvent& event, const std::string& to) {
  const Result<std::string> first = first_of_line(reader, line_prefix(to, event.line));
  if (!first) return std::unexpected(first.error());
  return *first == line_key(to, event.line, event.id);
}

Result<bool> is_overtaken(InboxReader& reader, const AcceptedEvent& event, const std::string& to, Time now) {
  const Result<std::optional<std::string>> read = reader.get(newest_key(to, event.line));
  if (!read) return std::unexpected(read.error());
  const std::optional<std::string>& newest = *read;
  if (!newest || newest->size() < 8 || newest->substr(0, 8) <= time_bytes(now)) return false;
  return event.line.stamp < newest->substr(8);
}

// What has been taken is handed out, whatever comes behind it: nobody else would.
Result<TakenDeliveries> InboxBook::take(InboxTable& table, const TakeOrder& order, Time now) {
  TakenDeliveries taken;
  std::optional<Error> failed;
  if (adopting_) return taken;
  for (const Urgency urgency : {Urgency::fresh, Urgency::retry, Urgency::replay}) {
    std::size_t limit = order.limit - std::min(order.limit, taken.deliveries.size());
    if (urgency == Urgency::replay) limit = std::min(limit, order.replays_max);
    if (urgency == Urgency::replay && order.replays_max == 0) continue;  // who asks knows when one may run again
    const Result<void> done = take_due(table, order, urgency, limit, taken, now);
    if (!done) failed = done.error();
  }
  if (!failed) return taken;
  unread_.note("what waits for " + order.to, *failed, now);
  if (taken.deliveries.empty()) return std::unexpected(*std::move(failed));
  sooner(taken.next, now + InboxUnread::rest);
  return taken;
}

// Each key that is looked at goes: its delivery runs now, or waits for another thing. So the next look begins behind
// it. The key of an event that cannot be read stays, and rests.
Result<void> InboxBook::take_due(InboxTable& table, const TakeOrder& order, Urgency urgency, std::size_t limit,
                                 TakenDeliveries& taken, Time now) {
  const std::string prefix = due_prefix(order.to, urgency);
  const std::size_t enough = taken.deliveries.size() + limit;
  for (bool more = true; more;) {
    const std::size_t wanted = enough - taken.deliveries.size();
    std::vector<std::pair<std::string, TimedKey>> found;
    std::optional<Time> later;
    std::optional<std::string> stays;  // the first key that does
    const auto see = [&](std::string_view key, std::string_view) {
      const std::optional<TimedKey> entry = timed_key(key);
      if (!entry) return true;
      const bool over = entry->at > now || found.size() >= wanted;
      const std::optional<Time> rests = over ? std::nullopt : unread_.rests_until(entry->id, now);
      if (!over && !rests) {
        found.emplace_back(std::string(key), *entry);
        return true;
      }
      if (!stays) stays = std::string(key);
      if (over) later = entry->at;
      if (rests) sooner(taken.next, *rests);
      return !over;
    };
    Result<void> walked = table.walk(queues_.begin(prefix), prefix, see);
    if (!walked) return walked;
    queues_.begins_at(prefix, stays ? *std::move(stays) : prefix + time_bytes(now));
    for (const auto& [key, entry] : found) {
      const Savepoint before = savepoint(table);
      table.erase(key);
      const Result<void> one = take_one(table, order, entry.id, taken, now);
      if (one) continue;
      go_back(table, before);
      unread_.note(InboxUnread::name_of(entry.id), one.error(), now);
      sooner(taken.next, now + InboxUnread::rest);
    }
    if (later) sooner(taken.next, *later);
    more = !found.empty() && taken.deliveries.size() < enough && later && *later <= now;
  }
  return {};
}

Result<void> InboxBook::take_one(InboxTable& table, const TakeOrder& order, const core::EventId& id,
                                 TakenDeliveries& taken, Time now) {
  const std::string& to = order.to;
  Result<std::optional<AcceptedEvent>> read = read_event(table, id);
  if (!read) return std::unexpected(std::move(read.error()));
  std::optional<AcceptedEvent>& found = *read;
  if (!found) return {};
  AcceptedEvent event = *std::move(found);
  DeliveryRecord* const delivery = delivery_to(event, to);
  if (delivery == nullptr || delivery->state != DeliveryState::waiting || delivery->in_line) return {};
  const DeliveryRecord from = *delivery;
  delivery->changed = now;
  if (event.line.kind != Line::Kind::none) {
    const Result<bool> overtaken = event.line.kind == Line::Kind::latest && delivery->urgency != Urgency::replay
                                       ? is_overtaken(table, event, to, now)
                                       : Result<bool>(false);
    if (!overtaken) return std::unexpected(overtaken.error());
    if (*overtaken) {
      delivery->state = DeliveryState::superseded;
      return store(table, event, *delivery, from, order.retain_ended, now);
    }
    const Result<bool> first = is_first_in_line(table, event, to);
    if (!first) return std::unexpected(first.error());
    const bool in_turn = *first || event.line.kind == Line::Kind::latest;
    if (!in_turn || figures_.busy(line_prefix(to, event.line))) {
      delivery->in_line = true;
      return store(table, event, *delivery, from, Millis{0}, now);
    }
  }
  delivery->state = DeliveryState::running;
  delivery->taken = true;
  ++delivery->attempt;
  const auto at = static_cast<std::size_t>(delivery - event.deliveries.data());
  Result<void> stored = store(table, event, *delivery, from, Millis{0}, now);
  if (!stored) return stored;
  unread_.could_be_read(id);
  taken.deliveries.push_back({.event = std::move(event), .at = at});
  return {};
}

Result<void> InboxBook::settle(InboxTable& table, KeyRecords& records, const SettleOrder& order, Time now) {
  Result<std::optional<AcceptedEvent>> read = read_event(table, order.id);
  if (!read) return std::unexpected(std::move(read.error()));
  std::optional<AcceptedEvent>& found = *read;
  if (!found) return fail(Code::fenced, "there is no such event");
  AcceptedEvent event = *std::move(found);
  DeliveryRecord* const delivery = delivery_to(event, order.to);
  if (delivery == nullptr) return fail(Code::fenced, "the event has no such destination");
  if (delivery->attempt != order.attempt) return fail(Code::fenced, "another attempt has begun");
  if (delivery->state == order.state) return {};  // a repetition
  if (delivery->state != DeliveryState::running) return fail(Code::fenced, "this attempt has already ended");
  const DeliveryRecord from = *delivery;
  delivery->state = order.state;
  delivery->taken = false;
  delivery->changed = now;
  delivery->status = order.status;
  delivery->why = order.why;
  if (order.tried && order.state != DeliveryState::done) ++delivery->tries;
  if (order.state == DeliveryState::waiting) {
    delivery->urgency = delivery->urgency == Urgency::replay ? Urgency::replay : Urgency::retry;
    delivery->due = now + order.wait;
  }
  Result<void> stored = store(table, event, *delivery, from, order.retain_ended, now);
  if (!stored || !order.answer || order.state != DeliveryState::done) return stored;
  return answer_duplicates(records, event, order.answer);  // last, because a record cannot be taken back
}

Result<void> InboxBook::keep_line(InboxTable& table, const AcceptedEvent& event, const DeliveryRecord& delivery,
                                  const DeliveryRecord& from, Time now) {
  const bool stood = stands_in_line(event, from);
  const bool stands = stands_in_line(event, delivery);
  if (stood && !stands) {
    leave_line(table, line_prefix(delivery.to, event.line), line_key(delivery.to, event.line, event.id));
  }
  if (!stood && stands) stand_in_line(table, event, delivery.to);
  const bool newly_done = delivery.state == DeliveryState::done && from.state != DeliveryState::done;
  if (event.line.kind != Line::Kind::latest || !newly_done) return {};
  const Result<bool> overtaken = is_overtaken(table, event, delivery.to, now);
  const bool damaged = !overtaken && overtaken.error().code == Code::corrupt;  // this one takes its place
  if (!overtaken && !damaged) return std::unexpected(overtaken.error());
  if (overtaken && *overtaken) return {};
  const std::string key = newest_key(delivery.to, event.line);
  table.put(key, time_bytes(event.expires_at) + event.line.stamp);
  std::string drop = drop_key(event.expires_at, event.id);
  queues_.added(drop_prefix, drop);
  table.put(std::move(drop), key);
  return {};
}

// The first of a line that nobody runs becomes due. Entries without a delivery behind them are cleared away. If the
// first cannot be read, the line waits for it: an order that skips events is none.
Result<void> InboxBook::wake_line(InboxTable& table, const std::string& to, const Line& line, Time now) {
  const std::string prefix = line_prefix(to, line);
  if (figures_.busy(prefix)) return {};
  for (std::size_t cleared = 0; cleared < stale_lines_max; ++cleared) {
    const Result<std::string> first = first_of_line(table, prefix);
    if (!first) return go_on_without("a line of " + to, first.error(), now);
    const std::optional<core::EventId> id = id_at_end(*first);
    if (first->empty() || !id) return {};
    Result<std::optional<AcceptedEvent>> read = read_event(table, *id);
    if (!read) return go_on_without(InboxUnread::name_of(*id), read.error(), now);
    unread_.could_be_read(*id);
    AcceptedEvent event = (*read).value_or(AcceptedEvent{});
    DeliveryRecord* const delivery = delivery_to(event, to);
    if (delivery == nullptr || !stands_in_line(event, *delivery)) {
      leave_line(table, prefix, *first);
      continue;
    }
    if (delivery->state != DeliveryState::waiting || !delivery->in_line) return {};
    delivery->in_line = false;
    delivery->due = std::max(now, delivery->since + event.line.reorder);
    let_wait(table, *id, *delivery);
    table.put(event_key(*id), encode_event(event));
    return {};
  }
  return {};
}

// First what take() had made to run, then what ran since it was accepted, from the mark on. What cannot be read keeps
// its place for the next process.
Result<std::size_t> InboxBook::adopt(InboxTable& table, const AdoptOrder& order, Time now) {
  if (!adopting_) return std::size_t{0};
  const std::size_t limit = std::max<std::size_t>(order.limit, 2);  // each look begins with the last of the look before
  std::vector<Left> found;
  const auto taken = [&](std::string_view key, std::string_view) {
    const auto id = id_behind_tag(key);
    if (id && !unread_.is_lost(*id)) found.push_back({.id = *id, .entry = std::string(key)});
    return found.size() < limit;
  };
  Result<void> walked = table.walk(taken_prefix, taken_prefix, taken);
  const bool later = found.empty();
  const auto running = [&](std::string_view key, std::string_view) {
    const auto id = id_behind_tag(key);
    if (!id || found.size() >= limit) return false;
    if (*id >= *adopting_ && !is_of(ids_.holder, *id)) found.push_back({.id = *id, .entry = {}});
    return true;
  };
  if (walked && later) walked = table.walk(event_key(*adopting_), event_prefix, running);
  if (!walked) unread_.note("what a process left running", walked.error(), now);
  if (!walked) return std::unexpected(std::move(walked.error()));
  for (const Left& left : found) {
    const Result<void> back = adopt_one(table, left, order, now);
    if (!back) return std::unexpected(back.error());
  }
  if (later && found.size() < limit) {
    adopting_.reset();
  } else if (later) {
    adopting_ = found.back().id;
  }
  return adopting_ ? std::max<std::size_t>(found.size(), 1) : 0;
}

Result<void> InboxBook::adopt_one(InboxTable& table, const Left& left, const AdoptOrder& order, Time now) {
  const Savepoint before = savepoint(table);
  if (!left.entry.empty()) table.erase(left.entry);
  const Result<std::optional<AcceptedEvent>> read = read_event(table, left.id);
  const bool gone = read && !*read;
  if (gone) return {};
  const Result<void> back =
      read ? put_back(table, read->value_or(AcceptedEvent{}), order, now) : Result<void>(std::unexpected(read.error()));
  if (back) unread_.could_be_read(left.id);
  if (back) return {};
  go_back(table, before);
  Result<void> without = go_on_without(InboxUnread::name_of(left.id), back.error(), now);
  if (without && left.entry.empty()) figures_.may_run(left.id);  // so that the mark does not pass it
  return without;
}

Result<void> InboxBook::put_back(InboxTable& table, AcceptedEvent event, const AdoptOrder& order, Time now) {
  for (std::size_t i = 0; i < event.deliveries.size(); ++i) {
    DeliveryRecord& delivery = event.deliveries[i];
    if (delivery.state != DeliveryState::running) continue;
    const DeliveryRecord from = delivery;
    const bool held = std::ranges::find(order.holding, delivery.to) != order.holding.end();
    const bool replay_held = from.urgency == Urgency::replay &&
                             std::ranges::find(order.holding_replays, delivery.to) != order.holding_replays.end();
    delivery.state = held || replay_held ? DeliveryState::unknown : DeliveryState::waiting;
    delivery.taken = false;
    delivery.urgency = from.urgency == Urgency::replay ? Urgency::replay : Urgency::retry;
    delivery.due = now + order.rest;
    delivery.changed = now;
    delivery.why = "the process that ran it ended";
    Result<void> stored = store(table, event, delivery, from, Millis{0}, now);
    if (!stored) return stored;
  }
  return {};
}

}  // namespace semel::store
