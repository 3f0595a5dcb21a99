// Each change is noted, so that a step that failed, or a batch that was not written, can be taken back.
#include "store/inbox_figures.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_codec.h"
#include "store/inbox_desk.h"
#include "store/inbox_table.h"

namespace semel::store {
namespace {

void add(std::uint64_t& number, std::int64_t change) {
  number = static_cast<std::uint64_t>(static_cast<std::int64_t>(number) + change);
}

std::uint64_t& count_of(DeliveryTally& tally, DeliveryState state) {
  return tally.by_state.at(static_cast<std::size_t>(state));
}

}  // namespace

void InboxFigures::restore(DeliveryTally tally) {
  Name name{tally.source, tally.to};
  tallies_.insert_or_assign(std::move(name), std::move(tally));
}

DeliveryTally& InboxFigures::tally_of(const AcceptedEvent& event, const std::string& to) {
  const Name name{event.source, to};
  DeliveryTally& tally = tallies_[name];
  tally.source = event.source;
  tally.to = to;
  before_.try_emplace(name, tally);
  return tally;
}

void InboxFigures::apply(const Count& change, std::int64_t sign) {
  DeliveryTally& tally = *change.tally;
  add(tally.accepted, sign * change.accepted);
  add(tally.strays, sign * change.strays);
  add(tally.bytes, sign * change.bytes);
  if (change.from) add(count_of(tally, *change.from), -sign);
  if (change.to) add(count_of(tally, *change.to), sign);
}

void InboxFigures::count(Count change) {
  apply(change, 1);
  counts_.push_back(change);
}

void InboxFigures::accepted(const AcceptedEvent& event, const DeliveryRecord& delivery) {
  count({.tally = &tally_of(event, delivery.to), .from = {}, .to = delivery.state, .accepted = 1});
  if (delivery.state == DeliveryState::running) apply(turns_.emplace_back(turn_of(event, delivery, true)));
}

void InboxFigures::moved(const AcceptedEvent& event, const DeliveryRecord& delivery, const DeliveryRecord& from) {
  if (from.state == delivery.state) return;
  count({.tally = &tally_of(event, delivery.to), .from = from.state, .to = delivery.state});
  if (from.state == DeliveryState::running) apply(turns_.emplace_back(turn_of(event, from, false)));
  if (delivery.state == DeliveryState::running) apply(turns_.emplace_back(turn_of(event, delivery, true)));
}

void InboxFigures::strayed(const AcceptedEvent& event, const DeliveryRecord& delivery) {
  count({.tally = &tally_of(event, delivery.to), .from = {}, .to = {}, .strays = 1});
}

void InboxFigures::kept_bytes(const AcceptedEvent& event, std::int64_t change) {
  if (event.deliveries.empty()) return;
  count({.tally = &tally_of(event, event.deliveries.front().to), .from = {}, .to = {}, .bytes = change});
}

void InboxFigures::may_run(const core::EventId& id) {
  if (!first_attempts_.contains(id)) first_attempts_.insert(id);
}

InboxFigures::Turn InboxFigures::turn_of(const AcceptedEvent& event, const DeliveryRecord& delivery, bool began) {
  const bool ordered = event.line.kind != Line::Kind::none;
  return {.id = event.id,
          .first = !delivery.taken,
          .line = ordered ? line_prefix(delivery.to, event.line) : std::string(),
          .began = began};
}

void InboxFigures::apply(const Turn& turn) {
  if (turn.began) {
    if (turn.first) first_attempts_.insert(turn.id);
    if (!turn.line.empty()) busy_.insert(turn.line);
    return;
  }
  const auto found = turn.first ? first_attempts_.find(turn.id) : first_attempts_.end();
  if (found != first_attempts_.end()) first_attempts_.erase(found);
  if (!turn.line.empty()) busy_.erase(turn.line);
}

std::uint64_t InboxFigures::depth_of(const std::string& source) const {
  std::uint64_t depth = 0;
  for (auto it = tallies_.lower_bound({source, {}}); it != tallies_.end() && it->first.first == source; ++it) {
    depth += it->second.open();
  }
  return depth;
}

std::uint64_t InboxFigures::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, tally] : tallies_) bytes += tally.bytes;
  return bytes;
}

std::vector<DeliveryTally> InboxFigures::all() const {
  std::vector<DeliveryTally> all;
  all.reserve(tallies_.size());
  for (const auto& [name, tally] : tallies_) all.push_back(tally);
  return all;
}

std::optional<core::EventId> InboxFigures::oldest_first_attempt() const {
  return first_attempts_.empty() ? std::nullopt : std::optional(*first_attempts_.begin());
}

void InboxFigures::write(InboxTable& table) const {
  for (const auto& [name, before] : before_) {
    const DeliveryTally& tally = tallies_.at(name);
    table.put(tally_key(tally), encode_tally(tally));
  }
}

void InboxFigures::committed() {
  before_.clear();
  turns_.clear();
  counts_.clear();
}

void InboxFigures::take_back_turns(std::size_t left) {
  for (; turns_.size() > left; turns_.pop_back()) {
    turns_.back().began = !turns_.back().began;
    apply(turns_.back());
  }
}

void InboxFigures::go_back(const Savepoint& savepoint) {
  for (; counts_.size() > savepoint.counts; counts_.pop_back()) apply(counts_.back(), -1);
  take_back_turns(savepoint.turns);
}

void InboxFigures::undone() {
  for (const auto& [name, tally] : before_) tallies_.insert_or_assign(name, tally);
  take_back_turns(0);
  committed();
}

}  // namespace semel::store
