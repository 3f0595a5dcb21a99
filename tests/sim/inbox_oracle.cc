// Changes of the disk first; then what providers hear and handlers see.
#include "sim/inbox_oracle.h"

#include <algorithm>
#include <tuple>

#include "store/inbox_codec.h"

namespace semel::sim {
namespace {

using store::AcceptedEvent;
using store::DeliveryRecord;
using store::DeliveryState;
using store::Line;

bool stands(const AcceptedEvent& event, const DeliveryRecord& delivery) {
  return !has_ended(delivery.state) || (delivery.state == DeliveryState::dead && event.line.blocks);
}

const DeliveryRecord* record_of(const AcceptedEvent& event, const std::string& to) {
  const auto found = std::ranges::find(event.deliveries, to, &DeliveryRecord::to);
  return found == event.deliveries.end() ? nullptr : &*found;
}

std::size_t place_of(DeliveryState state) {
  return static_cast<std::size_t>(state);
}

}  // namespace

void InboxOracle::expect(bool holds, const std::string& promise) {
  if (holds || broken()) return;
  verdict_ = promise + "\n" + world_.story();
}

// ---- the disk -------------------------------------------------------------------------------------------------------

void InboxOracle::written(const store::OverlayTable::Changes& changes) {
  std::set<core::EventId> fresh;
  std::vector<std::pair<std::optional<AcceptedEvent>, AcceptedEvent>> steps;
  settled_before_.clear();
  for (const auto& [key, value] : changes) {
    const auto id = key.starts_with(store::event_prefix) ? store::id_behind_tag(key) : std::nullopt;
    if (!id) continue;
    const auto known = events_.find(*id);
    if (!value) {
      if (known != events_.end()) erased(known->second);
      continue;
    }
    const Result<AcceptedEvent> event = store::decode_event(*value, *id);
    expect(event.has_value(), "what is stored can be read");
    if (!event) return;
    const bool is_new = known == events_.end();
    if (is_new) fresh.insert(*id);
    steps.emplace_back(is_new ? std::nullopt : std::optional(known->second), *event);
    for (std::size_t i = 0; !is_new && i < known->second.deliveries.size(); ++i) {
      settled_before_[{*id, known->second.deliveries[i].to}] = known->second.deliveries[i];
    }
    events_.insert_or_assign(*id, *event);
  }
  for (const auto& [before, after] : steps) changed(before, after, fresh);
  for (const auto& [key, value] : changes) {
    if (!key.starts_with(store::tally_prefix) || !value) continue;
    const Result<store::DeliveryTally> tally = store::decode_tally(key, *value);
    expect(tally.has_value(), "a tally can be read");
    if (tally) compare(*tally);
  }
}

void InboxOracle::changed(const std::optional<AcceptedEvent>& before, const AcceptedEvent& after,
                          const std::set<core::EventId>& fresh) {
  if (!before) {
    const auto [known, is_new] = by_key_.try_emplace(after.key, after.id);
    if (!is_new) {
      const auto earlier = events_.find(known->second);
      const bool over = earlier == events_.end() || earlier->second.expires_at <= world_.now();
      expect(over, "I2: one event for each key, until that expires");
      known->second = after.id;
    }
    ++world_.stats.accepted;
  }
  for (const DeliveryRecord& delivery : after.deliveries) {
    const DeliveryRecord* const was = before ? record_of(*before, delivery.to) : nullptr;
    if (after.line.kind != Line::Kind::none) {
      lanes_[{delivery.to, {after.line.object.begin(), after.line.object.end()}}].insert(after.id);
    }
    moved(after, was, delivery);
    const bool runs = delivery.state == DeliveryState::running;
    const bool started =
        runs && (was == nullptr || was->state != DeliveryState::running || was->attempt != delivery.attempt);
    if (started && after.line.kind != Line::Kind::none) has_its_turn(after, delivery, fresh);
  }
}

void InboxOracle::moved(const AcceptedEvent& event, const DeliveryRecord* before, const DeliveryRecord& after) {
  Figures& figures = figures_[{event.source, after.to}];
  Track& track = this->track(event.id, after.to);
  if (before == nullptr) ++figures.accepted;
  if (before != nullptr) --figures.by_state.at(place_of(before->state));
  ++figures.by_state.at(place_of(after.state));
  const DeliveryState from = before == nullptr ? DeliveryState::waiting : before->state;
  if (before != nullptr) {
    expect(after.attempt >= before->attempt, "I3: the number of an attempt never falls");
    const bool left_an_end = has_ended(from) && after.state != from;
    expect(!left_an_end || track.acts, "I2: what has ended stays so, unless an operator sends it again");
  }
  if (from != after.state) {
    world_.note(event.id.text().substr(20) + " " + after.to + " " + std::string(name(after.state)) + " attempt " +
                std::to_string(after.attempt) + " " + after.why);
    ended_well(event, after, track);
  }
  // An attempt that failed counts as tried; one that a dead process left does not, and nobody was told its answer.
  const bool told = before != nullptr && from == DeliveryState::running && after.state == DeliveryState::waiting &&
                    after.tries > before->tries && track.ruling && track.ruling->retry_after;
  if (told) {
    const Millis most = world_.destination(after.to).rules.schedule.retry_after_max;
    track.floor = track.answered_at + std::min(*track.ruling->retry_after, most);
    ++world_.stats.floors;
  }
}

// Each end has a reason that the oracle knows of.
void InboxOracle::ended_well(const AcceptedEvent& event, const DeliveryRecord& delivery, const Track& track) {
  using inbox::DeliveryFate;
  const auto ruled = [&](DeliveryFate fate) {
    return track.begun == delivery.attempt && track.ruling && track.ruling->fate == fate;
  };
  const inbox::RetrySchedule& schedule = world_.destination(delivery.to).rules.schedule;
  const Millis age = world_.now() - delivery.since;
  const Millis floor = track.ruling ? track.ruling->retry_after.value_or(Millis{0}) : Millis{0};
  const Millis longest = std::max(schedule.steps.back(), std::min(floor, schedule.retry_after_max)) * 6 / 5;
  switch (delivery.state) {
    case DeliveryState::done:
      return expect(track.acts || ruled(DeliveryFate::done), "done is what a handler, or an operator, said");
    case DeliveryState::dead:
      return expect(ruled(DeliveryFate::dead) || age + longest >= schedule.give_up_after,
                    "dead is what was fatal, or old enough to be given up");
    case DeliveryState::unknown:
      return expect(world_.destination(delivery.to).rules.on_unknown == inbox::OnSilence::hold,
                    "I8: only a destination that holds leaves a delivery unknown");
    case DeliveryState::superseded:
      return expect(event.line.kind == Line::Kind::latest, "only `latest` supersedes");
    case DeliveryState::skipped:
      return expect(delivery.attempt == 0 && !delivery.why.empty(), "what a filter skips names its rule");
    case DeliveryState::discarded:
      return expect(track.acts, "only an operator discards");
    case DeliveryState::waiting:
    case DeliveryState::running:
      return;
  }
}

// I5, of a delivery that has become running with this batch. Others that the same batch has brought, or has let end,
// may have come behind it.
void InboxOracle::has_its_turn(const AcceptedEvent& event, const DeliveryRecord& delivery,
                               const std::set<core::EventId>& fresh) {
  ++world_.stats.fifo;
  for (const core::EventId& id : lanes_[{delivery.to, {event.line.object.begin(), event.line.object.end()}}]) {
    const auto found = events_.find(id);
    if (id == event.id || found == events_.end()) continue;
    const AcceptedEvent& other = found->second;
    const DeliveryRecord* const theirs = record_of(other, delivery.to);
    if (theirs == nullptr) continue;
    expect(theirs->state != DeliveryState::running, "I5: of one object one event at a time");
    const auto changed = settled_before_.find({id, delivery.to});
    const DeliveryRecord& before = changed == settled_before_.end() ? *theirs : changed->second;
    if (event.line.kind == Line::Kind::fifo) {
      const bool earlier = std::tie(other.line.stamp, other.id) < std::tie(event.line.stamp, event.id);
      const bool stood = !fresh.contains(id) && stands(other, before) && stands(other, *theirs);
      expect(!earlier || !stood, "I5: none runs while an earlier one of its object has not ended");
    } else if (delivery.urgency != store::Urgency::replay) {
      const bool was_done = before.state == DeliveryState::done && theirs->state == DeliveryState::done &&
                            !fresh.contains(id) && other.expires_at > world_.now();
      expect(!was_done || other.line.stamp <= event.line.stamp, "I5: none runs that is older than one that is done");
    }
  }
}

void InboxOracle::erased(const AcceptedEvent& event) {
  for (const DeliveryRecord& delivery : event.deliveries) {
    expect(has_ended(delivery.state), "I4: only what has ended is forgotten");
    ++world_.stats.ends[delivery.state];
    lanes_[{delivery.to, {event.line.object.begin(), event.line.object.end()}}].erase(event.id);
  }
  expect(event.expires_at <= world_.now(), "an event is kept as long as its key");
  const auto known = by_key_.find(event.key);
  if (known != by_key_.end() && known->second == event.id) by_key_.erase(known);
  acknowledged_.erase(event.id);
  events_.erase(core::EventId(event.id));
}

void InboxOracle::compare(const store::DeliveryTally& tally) {
  const Figures& figures = figures_[{tally.source, tally.to}];
  expect(tally.accepted == figures.accepted, "I4: the tally counts what was accepted");
  expect(tally.by_state == figures.by_state, "I4: the tally counts what is in which state");
}

// ---- providers and handlers -----------------------------------------------------------------------------------------

void InboxOracle::acknowledged(const core::EventId& id) {
  expect(events_.contains(id), "I1: what is acknowledged is durable");
  acknowledged_.insert(id);
}

void InboxOracle::acknowledged_again(const Digest& key) {
  expect(by_key_.contains(key), "I1: a duplicate is acknowledged only if its event is there");
}

void InboxOracle::began(const core::EventId& id, const std::string& to, std::uint32_t attempt, bool has_body) {
  Track& track = this->track(id, to);
  ++world_.stats.attempts;
  if (attempt > 1) ++world_.stats.retries;
  world_.note(id.text().substr(20) + " " + to + " attempt " + std::to_string(attempt) + " begins");
  const auto found = events_.find(id);
  const DeliveryRecord* const durable = found == events_.end() ? nullptr : record_of(found->second, to);
  expect(durable != nullptr && durable->state == DeliveryState::running && durable->attempt == attempt,
         "I3: an attempt begins when its number is durable");
  expect(attempt > track.begun, "I3: the numbers of attempts rise");
  expect(!track.at_work, "I2: one attempt at a time");
  expect(track.acts || world_.now() >= track.floor, "I6: no attempt comes before the Retry-After of the one before it");
  expect(has_body, "the body of what has not ended is kept");
  track = {.begun = attempt, .at_work = true, .ruling = {}, .floor = {}, .answered_at = {}, .acts = false};
}

void InboxOracle::answered(const core::EventId& id, const std::string& to, std::uint32_t attempt,
                           const inbox::Ruling& ruling) {
  Track& track = this->track(id, to);
  expect(track.begun == attempt, "a handler answers the newest attempt: the next begins when it has ended");
  track.at_work = false;
  track.ruling = ruling;
  track.answered_at = world_.now();
}

void InboxOracle::entered(const std::string& to) {
  expect(!paused_.contains(to), "I6: a pause lets no attempt begin");
}

void InboxOracle::balanced(const std::vector<store::DeliveryTally>& tallies) {
  for (const store::DeliveryTally& tally : tallies) {
    expect(tally.unaccounted() == 0, "I4: accepted is the sum of all states, and nothing stands in no queue");
  }
}

std::size_t InboxOracle::open() const {
  std::size_t open = 0;
  for (const auto& [id, event] : events_) {
    for (const DeliveryRecord& delivery : event.deliveries) open += has_ended(delivery.state) ? 0 : 1;
  }
  return open;
}

void InboxOracle::finally() {
  for (const auto& [id, event] : events_) {
    for (const DeliveryRecord& delivery : event.deliveries) {
      expect(has_ended(delivery.state), "I4: what was accepted ends: " + std::string(name(delivery.state)) + " " +
                                            id.text().substr(20) + " " + delivery.to);
      ++world_.stats.ends[delivery.state];
    }
  }
  for (const core::EventId& id : acknowledged_) expect(events_.contains(id), "I4: what was acknowledged is there");
}

}  // namespace semel::sim
