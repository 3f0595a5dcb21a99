// Opening, accepting, and what every change of a delivery brings along. The turns of deliveries are in inbox_turns.cc,
// what operators do in inbox_acts.cc, their bulk work in inbox_job_steps.cc.
#include "store/inbox_book.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/check.h"
#include "core/codec.h"
#include "core/event_id.h"
#include "core/transition.h"
#include "store/inbox.h"
#include "store/inbox_codec.h"
#include "store/inbox_desk.h"
#include "store/inbox_table.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store {
namespace {

constexpr Millis mark_every{1'000};
constexpr Millis claim_lease{30'000};  // the claim ends in the same step; it must only be sound

std::string size_text(std::uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what);
}

// Whether it had to wait and has not ended. A first attempt that was begun on acceptance is not of these.
bool waits_or_waited(const DeliveryRecord& delivery) {
  if (delivery.state == DeliveryState::running) return delivery.taken;
  return !has_ended(delivery.state);
}

}  // namespace

std::string_view name(DeliveryState state) {
  switch (state) {
    case DeliveryState::waiting:
      return "waiting";
    case DeliveryState::running:
      return "running";
    case DeliveryState::done:
      return "done";
    case DeliveryState::dead:
      return "dead";
    case DeliveryState::superseded:
      return "superseded";
    case DeliveryState::skipped:
      return "skipped";
    case DeliveryState::discarded:
      return "discarded";
    case DeliveryState::unknown:
      break;
  }
  return "unknown";
}

std::optional<DeliveryState> delivery_state(std::string_view text) {
  for (std::size_t i = 1; i < delivery_states; ++i) {
    const auto state = static_cast<DeliveryState>(i);
    if (name(state) == text) return state;
  }
  return std::nullopt;
}

Result<std::optional<AcceptedEvent>> read_event(InboxReader& reader, const core::EventId& id) {
  const Result<std::optional<std::string>> read = reader.get(event_key(id));
  if (!read) return std::unexpected(read.error());
  const std::optional<std::string>& bytes = *read;
  if (!bytes) return std::nullopt;
  Result<AcceptedEvent> event = decode_event(*bytes, id);
  if (!event) return std::unexpected(std::move(event.error()));
  return *std::move(event);
}

DeliveryRecord* delivery_to(AcceptedEvent& event, const std::string& to) {
  const auto found = std::ranges::find(event.deliveries, to, &DeliveryRecord::to);
  return found == event.deliveries.end() ? nullptr : &*found;
}

Result<void> InboxBook::open(InboxReader& reader, Time now) {
  std::optional<Error> failed;
  const auto see = [&](std::string_view key, std::string_view value) {
    Result<DeliveryTally> tally = decode_tally(key, value);
    if (!tally) failed = tally.error();
    if (tally) figures_.restore(*std::move(tally));
    return !failed;
  };
  Result<void> walked = reader.walk(tally_prefix, tally_prefix, see);
  if (!walked) return walked;
  if (failed) return std::unexpected(*std::move(failed));
  const Result<std::optional<std::string>> read = reader.get(mark_key);
  if (!read) return std::unexpected(read.error());
  const std::optional<std::string>& mark = *read;
  if (mark) mark_.id = core::EventId::from_bytes(*mark).value_or(core::EventId{});
  adopting_ = adopted_ = newest_ = mark_.id;
  ids_.born = now;
  return {};
}

// Ids grow with each that is made, so what a mark says of those before it stays true.
core::EventId InboxBook::next_id(Time now) {
  const Time at = std::max({now, ids_.born + Millis{1}, newest_.accepted_at()});
  return core::EventId::make(at, ids_.holder, ++ids_.sequence);
}

Result<Acceptance> InboxBook::accept(InboxTable& table, KeyRecords& records, const AcceptOrder& order,
                                     const AcceptReply& reply, Time now) {
  const Terms terms{.lease = claim_lease, .ttl = order.ttl, .lapsed = Terms::Lapsed::taken_over, .owner = order.owner};
  const Result<const Record*> stored = records.find_record(order.key.id);
  if (!stored) return std::unexpected(stored.error());
  core::ClaimStep step = core::step_claim(*stored, order.key, order.fingerprint, terms, now);
  if (!step.store) {
    auto* const held = std::get_if<Held>(&step.answer);
    if (held == nullptr) return fail(Code::unavailable, "the key is claimed by the same owner");
    return KnownEvent{.held = std::move(*held)};
  }
  if (Result<void> room = records.admit_record(); !room) return std::unexpected(std::move(room.error()));
  const std::uint64_t bytes = order.parcel->body.size();
  if (figures_.depth_of(order.source) + order.to.size() > order.depth_max) {
    return InboxFull{.what = size_text(order.depth_max, "deliveries wait: depth_max")};
  }
  if (figures_.bytes() + bytes > order.bytes_max) {
    return InboxFull{.what = size_text(order.bytes_max, "bytes are kept: inbox.bytes_max")};
  }
  AcceptedEvent event{.id = next_id(now),
                      .source = order.source,
                      .type = order.type,
                      .key = order.key.id,
                      .line = order.line,
                      .expires_at = step.store->expires_at,
                      .drop_at = {},
                      .bytes = std::max<std::uint64_t>(bytes, 1),
                      .deliveries = {}};
  const Fence fence = step.store->fence;
  core::HolderStep ended = core::step_complete(&*step.store, fence, reply(event.id, order.key, fence), now);
  if (!ended) return std::unexpected(std::move(ended.error()));
  std::optional<Record> record = *std::move(ended);
  Result<AcceptedEvent> placed = place(table, order, std::move(event), now);
  if (!placed) return std::unexpected(std::move(placed.error()));
  records.put_record(std::move(core::present(record, "a claim that was just granted can be completed")));
  return *std::move(placed);
}

Result<AcceptedEvent> InboxBook::place(InboxTable& table, const AcceptOrder& order, AcceptedEvent event, Time now) {
  for (const AcceptOrder::To& to : order.to) {
    const std::string& why = to.dead_for.empty() ? to.skipped_by : to.dead_for;
    DeliveryRecord delivery{.to = to.name, .since = now, .changed = now, .why = why};
    const Result<void> chosen = choose_state(table, event, to, delivery, now);
    if (!chosen) return std::unexpected(chosen.error());
    event.deliveries.push_back(std::move(delivery));
  }
  newest_ = event.id;
  for (const DeliveryRecord& delivery : event.deliveries) {
    figures_.accepted(event, delivery);
    if (delivery.state == DeliveryState::waiting && !delivery.in_line) let_wait(table, event.id, delivery);
    keep_open(table, event, delivery, nullptr);
  }
  figures_.kept_bytes(event, static_cast<std::int64_t>(event.bytes));
  const bool over =
      std::ranges::all_of(event.deliveries, [](const DeliveryRecord& each) { return has_ended(each.state); });
  if (over) plan_drop(table, event, now + order.retain_ended);
  table.put(parcel_key(event.id), core::encode_response(*order.parcel));
  table.put(event_key(event.id), encode_event(event));
  return event;
}

Result<void> InboxBook::choose_state(InboxTable& table, const AcceptedEvent& event, const AcceptOrder::To& to,
                                     DeliveryRecord& delivery, Time now) {
  if (!to.dead_for.empty() || !to.skipped_by.empty()) {
    delivery.state = to.dead_for.empty() ? DeliveryState::skipped : DeliveryState::dead;
    return {};
  }
  bool may_run = to.room && !adopting_;
  delivery.due = now;
  const Line& line = event.line;
  if (line.kind != Line::Kind::none) {
    if (line.kind == Line::Kind::latest) {
      const Result<bool> overtaken = is_overtaken(table, event, to.name, now);
      if (!overtaken) return std::unexpected(overtaken.error());
      if (*overtaken) delivery.state = DeliveryState::superseded;
      if (*overtaken) return {};
    }
    stand_in_line(table, event, to.name);
    const Result<bool> first = is_first_in_line(table, event, to.name);
    if (!first) return std::unexpected(first.error());
    delivery.in_line = figures_.busy(line_prefix(to.name, line)) || !*first;
    delivery.due = now + line.reorder;
    may_run = may_run && !delivery.in_line && line.reorder == Millis{0};
  }
  if (!may_run) return {};
  delivery.state = DeliveryState::running;
  delivery.attempt = 1;
  return {};
}

void InboxBook::keep_open(InboxTable& table, const AcceptedEvent& event, const DeliveryRecord& delivery,
                          const DeliveryRecord* from) {
  const auto key_of = [&](const DeliveryRecord& each) {
    return waits_or_waited(each) ? open_key(event.source, each.to, each.since, event.id) : std::string();
  };
  std::string before = from == nullptr ? std::string() : key_of(*from);
  std::string after = key_of(delivery);
  if (before == after) return;
  if (!before.empty()) table.erase(std::move(before));
  if (after.empty()) return;
  const auto oldest = waits_.oldest.find(std::string_view(after).substr(0, open_prefix_bytes));
  if (oldest != waits_.oldest.end()) oldest->second = std::min(oldest->second, delivery.since);
  table.put(std::move(after), {});
}

Result<std::vector<DeliveryTally>> InboxBook::status(InboxReader& reader) {
  std::vector<DeliveryTally> tallies = figures_.all();
  for (DeliveryTally& tally : tallies) {
    if (tally.open() == 0) continue;
    const std::string prefix = open_prefix(tally.source, tally.to);
    const auto known = waits_.oldest.find(prefix);
    std::optional<Time> first;
    const auto see = [&](std::string_view key, std::string_view) {
      if (const std::optional<TimedKey> entry = timed_key(key)) first = entry->at;
      return false;
    };
    const Time from = known == waits_.oldest.end() ? Time::min() : known->second;
    const Result<void> walked = reader.walk(prefix + time_bytes(from), prefix, see);
    if (!walked) return std::unexpected(walked.error());
    if (first) waits_.oldest[prefix] = *first;
    tally.oldest = first;
  }
  return tallies;
}

void InboxBook::let_wait(InboxTable& table, const core::EventId& id, const DeliveryRecord& delivery) {
  std::string key = due_key(delivery.to, delivery.urgency, delivery.due, id);
  queues_.added(std::string_view(key).substr(0, due_prefix_bytes), key);
  table.put(std::move(key), {});
  const auto due = waits_.told.try_emplace(delivery.to, delivery.due).first;
  due->second = std::min(due->second, delivery.due);
}

Result<void> InboxBook::store(InboxTable& table, AcceptedEvent& event, const DeliveryRecord& delivery,
                              const DeliveryRecord& from, Millis retain_ended, Time now) {
  if (from.state == DeliveryState::waiting && !from.in_line) {
    table.erase(due_key(from.to, from.urgency, from.due, event.id));
  }
  if (from.state == DeliveryState::running && from.taken) table.erase(taken_key(event.id, from.to));
  if (delivery.state == DeliveryState::waiting && !delivery.in_line) let_wait(table, event.id, delivery);
  if (delivery.state == DeliveryState::running && delivery.taken) table.put(taken_key(event.id, delivery.to), {});
  keep_open(table, event, delivery, &from);
  figures_.moved(event, delivery, from);
  Result<void> counted = count_for_job(table, delivery, from);
  if (!counted) return counted;
  const bool over =
      std::ranges::all_of(event.deliveries, [](const DeliveryRecord& each) { return has_ended(each.state); });
  const bool ends = has_ended(delivery.state) && from.state != delivery.state;
  // The longest of its deliveries counts: one that is dead keeps a body that others need no more.
  if (ends) event.drop_at = std::max(event.drop_at, now + retain_ended);
  if (over && ends) plan_drop(table, event, event.drop_at);
  table.put(event_key(event.id), encode_event(event));
  if (event.line.kind == Line::Kind::none) return {};
  Result<void> kept = keep_line(table, event, delivery, from, now);
  if (!kept) return kept;
  const bool moves_on = from.state == DeliveryState::running || has_ended(delivery.state);
  if (!moves_on || delivery.state == DeliveryState::running) return {};
  return wake_line(table, delivery.to, event.line, now);
}

void InboxBook::plan_drop(InboxTable& table, AcceptedEvent& event, Time at) {
  event.drop_at = at;
  std::string key = drop_key(at, event.id);
  queues_.added(drop_prefix, key);
  table.put(std::move(key), {});
}

void InboxBook::finish(InboxTable& table, Time now) {
  figures_.write(table);
  if (adopting_ || now < mark_.at + mark_every) return;
  const core::EventId mark = figures_.oldest_first_attempt().value_or(newest_);
  mark_.at = now;
  if (mark == mark_.id) return;
  mark_.id = mark;
  table.put(std::string(mark_key), std::string(mark.view()));
}

void InboxBook::committed() {
  figures_.committed();
  adopted_ = adopting_;
}

// What was learnt from keys that are still there must be learnt again, and what was put back stands where it stood.
void InboxBook::undone() {
  figures_.undone();
  adopting_ = adopted_;
  queues_.clear();
  lines_.clear();
  waits_ = {};
  mark_ = {};
}

}  // namespace semel::store
