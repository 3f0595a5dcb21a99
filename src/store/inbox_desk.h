// The operator's view of an inbox: look, list, send again, discard, pause; and what the keeper of the house does there.
//
// A list costs what it looks at, as in desk.h. Nothing counts rows: the figures of status() are kept with each change.
// Events are shown and filtered in the time of the store, as their ids have it; `oldest` of a tally and `until` of a
// pause are of the process's clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::store {

// What is not set does not matter.
struct DeliveryFilter {
  std::optional<DeliveryState> state;
  std::optional<std::string> source;
  std::optional<std::string> to;
  std::optional<std::string> type;
  std::optional<ScopeDigest> object;
  std::optional<Time> from;
  std::optional<Time> until;  // accepted before this
  std::size_t items_max = 100;
};

struct DeliveryList {
  std::vector<TakenDelivery> items;  // in the order in which their events came
  std::string cursor;                // where to go on; empty if this was all
  Time searched_to;                  // events that came before this have been looked at
};

// Deliveries of one source to one destination, since the inbox was made.
struct DeliveryTally {
  std::string source;
  std::string to;
  std::uint64_t accepted = 0;
  std::array<std::uint64_t, delivery_states> by_state{};
  std::uint64_t bytes = 0;     // that are kept; of a source, under its first destination
  std::optional<Time> oldest;  // the oldest that had to wait and has not ended: when it was accepted, or sent again
  std::uint64_t strays = 0;    // open ones that an audit found in no queue, since this process opened the inbox

  [[nodiscard]] std::int64_t unaccounted() const {
    std::uint64_t known = 0;
    for (const std::uint64_t count : by_state) known += count;
    const auto missing = static_cast<std::int64_t>(accepted) - static_cast<std::int64_t>(known);
    return missing + static_cast<std::int64_t>(strays);
  }
  [[nodiscard]] std::uint64_t open() const {
    return by_state.at(static_cast<std::size_t>(DeliveryState::waiting)) +
           by_state.at(static_cast<std::size_t>(DeliveryState::running)) +
           by_state.at(static_cast<std::size_t>(DeliveryState::unknown));
  }
};

// What an operator does to one delivery.
struct DeliveryChange {
  enum class What : std::uint8_t {
    redeliver,  // one that is not running: an attempt with the next number, whatever came of the earlier ones
    discard,    // one that has not ended, or is dead
    confirm,    // an unknown one took effect: it is done
  };

  core::EventId id;
  std::string to;
  What what = What::redeliver;
  std::string reason;
  Millis retain_ended{0};
};

// What operators have decided about a destination.
struct DestinationControl {
  std::string to;
  bool paused = false;
  std::optional<Time> until;  // of a pause; none: until it is resumed
  std::string reason;
};

class InboxDesk {
 public:
  virtual ~InboxDesk() = default;

  virtual Async<std::optional<AcceptedEvent>> find(core::EventId id) = 0;
  // Code::invalid: the cursor is not one of this store.
  virtual Async<DeliveryList> list(DeliveryFilter filter, std::string cursor) = 0;
  virtual Async<std::vector<DeliveryTally>> status() = 0;

  // Durable when it returns. Code::fenced: the delivery is not in a state that this can be done in; the detail says
  // which. Code::invalid: there is no such delivery, or its body is gone.
  virtual Async<AcceptedEvent> change(DeliveryChange change) = 0;

  virtual Async<void> control(DestinationControl control) = 0;
  virtual Async<std::vector<DestinationControl>> controls() = 0;

  // Drops the body of the event, whatever its state; its key and its deliveries stay. False if there was none. Waiting
  // deliveries are discarded. Code::fenced: one of them is running.
  virtual Async<bool> erase(core::EventId id, std::string reason) = 0;
  // Drops at most `limit` bodies and events that are kept no longer; returns how many. Also looks at so many events,
  // round and round, whether each delivery stands where its state says (DeliveryTally::strays).
  virtual Async<std::size_t> sweep_inbox(std::size_t limit) = 0;
};

}  // namespace semel::store
