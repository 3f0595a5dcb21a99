// A part that is down keeps no other from working, but for calls that must reach it.
#include "store/postgres/sharded_inbox.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/lookup.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {

// A key that was claimed before the set of shards grew is judged where it was.
Async<Acceptance> ShardedInbox::accept(AcceptOrder order, AcceptReply reply) {
  if (Lookup* const former = places_.former(order.key); former != nullptr) {
    Result<std::optional<Held>> held = co_await former->look_up(order.key);
    if (!held) co_return std::unexpected(std::move(held.error()));
    std::optional<Held>& there = *held;
    const bool stands = there && (there->record.state == Record::State::done ||
                                  (there->record.state == Record::State::running && there->lease_left > Millis{0}));
    if (stands) co_return KnownEvent{.held = *std::move(there)};
  }
  Inbox* const home = parts_[places_.home(order.key)].inbox;
  co_return co_await home->accept(std::move(order), std::move(reply));
}

Async<TakenDeliveries> ShardedInbox::take(TakeOrder order) {
  TakenDeliveries all;
  std::optional<Error> failed;
  std::size_t replays = 0;
  const std::size_t first = next_++;
  for (std::size_t i = 0; i < parts_.size() && all.deliveries.size() < order.limit; ++i) {
    TakeOrder rest = order;
    rest.limit -= all.deliveries.size();
    rest.replays_max -= std::min(rest.replays_max, replays);
    Result<TakenDeliveries> taken = co_await parts_[(first + i) % parts_.size()].inbox->take(std::move(rest));
    if (!taken) {
      failed = std::move(taken.error());
      continue;
    }
    for (TakenDelivery& each : taken->deliveries) {
      if (each.event.deliveries[each.at].urgency == Urgency::replay) ++replays;
      all.deliveries.push_back(std::move(each));
    }
    const std::optional<Time>& next = taken->next;
    if (next) all.next = all.next ? std::min(*all.next, *next) : *next;
  }
  if (failed && all.deliveries.empty()) co_return std::unexpected(*std::move(failed));
  co_return all;
}

bool ShardedInbox::may_begin(const core::EventId& id, const std::string& to) {
  return leads(to) && std::ranges::any_of(parts_, [&](const Part& part) { return part.inbox->may_begin(id, to); });
}

Async<void> ShardedInbox::settle(SettleOrder order) {
  for (const Part& part : parts_) {
    if (part.inbox->may_begin(order.id, order.to)) co_return co_await part.inbox->settle(std::move(order));
  }
  Result<void> settled;
  for (const Part& part : parts_) {
    settled = co_await part.inbox->settle(order);
    if (settled || settled.error().code != Code::fenced) break;
  }
  co_return settled;
}

Async<std::size_t> ShardedInbox::adopt(AdoptOrder order) {
  std::size_t adopted = 0;
  std::optional<Error> failed;
  for (const Part& part : parts_) {
    Result<std::size_t> there = co_await part.inbox->adopt(order);
    if (there) adopted += *there;
    if (!there) failed = std::move(there.error());
  }
  if (failed && adopted == 0) co_return std::unexpected(*std::move(failed));
  co_return adopted;
}

Async<std::optional<Parcel>> ShardedInbox::load(core::EventId id) {
  std::optional<Error> failed;
  for (const Part& part : parts_) {
    Result<std::optional<Parcel>> there = co_await part.inbox->load(id);
    if (there && *there) co_return there;
    if (!there) failed = std::move(there.error());
  }
  if (failed) co_return std::unexpected(*std::move(failed));
  co_return std::nullopt;
}

Async<std::optional<AcceptedEvent>> ShardedInbox::find(core::EventId id) {
  std::optional<Error> failed;
  for (const Part& part : parts_) {
    Result<std::optional<AcceptedEvent>> there = co_await part.desk->find(id);
    if (there && *there) co_return there;
    if (!there) failed = std::move(there.error());
  }
  if (failed) co_return std::unexpected(*std::move(failed));
  co_return std::nullopt;
}

// One after the other. A cursor is the number of the part in front of its own.
Async<DeliveryList> ShardedInbox::list(DeliveryFilter filter, std::string cursor) {
  std::size_t at = 0;
  if (!cursor.empty()) {
    const std::size_t slash = cursor.find('/');
    const auto [end, error] = std::from_chars(cursor.data(), cursor.data() + std::min(slash, cursor.size()), at);
    if (slash == std::string::npos || error != std::errc() || end != cursor.data() + slash || at >= parts_.size()) {
      co_return fail(Code::invalid, "cursor: it is not one that a list has returned");
    }
    cursor.erase(0, slash + 1);
  }
  Result<DeliveryList> page = co_await parts_[at].desk->list(filter, cursor);
  if (!page) co_return page;
  const std::size_t next = page->cursor.empty() ? at + 1 : at;
  if (next < parts_.size()) page->cursor = std::to_string(next) + "/" + page->cursor;
  co_return page;
}

Async<std::vector<DeliveryTally>> ShardedInbox::status() {
  std::vector<DeliveryTally> all;
  for (const Part& part : parts_) {
    Result<std::vector<DeliveryTally>> there = co_await part.desk->status();
    if (!there) co_return there;
    for (DeliveryTally& tally : *there) {
      const auto same = [&](const DeliveryTally& each) { return each.source == tally.source && each.to == tally.to; };
      const auto found = std::ranges::find_if(all, same);
      if (found == all.end()) {
        all.push_back(std::move(tally));
        continue;
      }
      found->accepted += tally.accepted;
      for (std::size_t i = 0; i < delivery_states; ++i) found->by_state.at(i) += tally.by_state.at(i);
      found->bytes += tally.bytes;
      found->strays += tally.strays;
    }
  }
  co_return all;
}

Async<AcceptedEvent> ShardedInbox::change(DeliveryChange change) {
  for (const Part& part : parts_) {
    const Result<std::optional<AcceptedEvent>> there = co_await part.desk->find(change.id);
    if (!there) co_return std::unexpected(there.error());
    if (*there) co_return co_await part.desk->change(std::move(change));
  }
  co_return fail(Code::invalid, "there is no such event");
}

Async<void> ShardedInbox::control(DestinationControl control) {
  for (const Part& part : parts_) {
    Result<void> there = co_await part.desk->control(control);
    if (!there) co_return there;
  }
  co_return Result<void>();
}

// All have the same, unless one was down when it was decided: then the first says.
Async<std::vector<DestinationControl>> ShardedInbox::controls() {
  std::vector<DestinationControl> all;
  for (const Part& part : parts_) {
    Result<std::vector<DestinationControl>> there = co_await part.desk->controls();
    if (!there) co_return there;
    for (DestinationControl& control : *there) {
      const auto found = std::ranges::find(all, control.to, &DestinationControl::to);
      if (found == all.end()) all.push_back(std::move(control));
    }
  }
  co_return all;
}

Async<bool> ShardedInbox::erase(core::EventId id, std::string reason) {
  for (const Part& part : parts_) {
    Result<bool> there = co_await part.desk->erase(id, reason);
    if (!there || *there) co_return there;
  }
  co_return false;
}

Async<std::size_t> ShardedInbox::sweep_inbox(std::size_t limit) {
  std::size_t dropped = 0;
  std::optional<Error> failed;
  for (const Part& part : parts_) {
    Result<std::size_t> there = co_await part.desk->sweep_inbox(limit);
    if (there) dropped += *there;
    if (!there) failed = std::move(there.error());
  }
  if (failed && dropped == 0) co_return std::unexpected(*std::move(failed));
  co_return dropped;
}

}  // namespace semel::store::postgres
