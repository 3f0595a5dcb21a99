// The oracle of the simulated inbox: what is durable, what handlers saw and what providers heard, against the promises
// of docs/inbox.md.
//
//   I1, I4   what was acknowledged is durable, stays, and ends; the figures are those of the deliveries, always
//   I2       of one delivery one attempt at a time, none after it has ended unless an operator sends it again
//   I3       an attempt's number is durable before it begins, and greater than all before
//   I5       fifo: none becomes running while an earlier one of its object has not ended; latest: none that is older
//            than one that is done; of one object one at a time
//   I6       none begins before the Retry-After of the one before it, nor while its destination is paused
//
// It keeps books of its own from the changes that reach the disk and never asks the rules that it checks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "inbox/verdict.h"
#include "sim/inbox_world.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_table.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::sim {

class InboxOracle {
 public:
  explicit InboxOracle(InboxWorld& world) : world_(world) {}

  // The first promise that was broken.
  [[nodiscard]] bool broken() const { return !verdict_.empty(); }
  [[nodiscard]] const std::string& verdict() const { return verdict_; }
  void expect(bool holds, const std::string& promise);

  // The disk: a batch has become durable.
  void written(const store::OverlayTable::Changes& changes);
  // The provider hears 2xx for a new event, or because its key is known.
  void acknowledged(const core::EventId& id);
  void acknowledged_again(const Digest& key);
  // A handler is called; its answer comes.
  void began(const core::EventId& id, const std::string& to, std::uint32_t attempt, bool has_body);
  void answered(const core::EventId& id, const std::string& to, std::uint32_t attempt, const inbox::Ruling& ruling);
  // A slot is entered; an operator is about to act.
  void entered(const std::string& to);
  void paused(const std::string& to, bool is) { is ? void(paused_.insert(to)) : void(paused_.erase(to)); }
  void acts_on(const core::EventId& id, const std::string& to) { track(id, to).acts = true; }
  // What the store itself says of its books.
  void balanced(const std::vector<store::DeliveryTally>& tallies);

  // All events, and what is durable of them.
  [[nodiscard]] const std::map<core::EventId, store::AcceptedEvent>& events() const { return events_; }
  // Deliveries that have not ended and that nobody but time has to bring on.
  [[nodiscard]] std::size_t open() const;
  void finally();

 private:
  using Place = std::pair<core::EventId, std::string>;
  using Lane = std::pair<std::string, std::vector<std::uint8_t>>;  // destination, object
  using Name = std::pair<std::string, std::string>;                // source, destination
  struct Track {
    std::uint32_t begun = 0;  // the newest attempt that a handler saw
    bool at_work = false;
    std::optional<inbox::Ruling> ruling;  // of that attempt
    Time floor{};                         // by a Retry-After that the store was told of
    Time answered_at{};
    bool acts = false;  // an operator has changed it since it last ran
  };
  struct Figures {
    std::uint64_t accepted = 0;
    std::array<std::uint64_t, store::delivery_states> by_state{};
  };

  Track& track(const core::EventId& id, const std::string& to) { return tracks_[{id, to}]; }
  void changed(const std::optional<store::AcceptedEvent>& before, const store::AcceptedEvent& after,
               const std::set<core::EventId>& fresh);
  void moved(const store::AcceptedEvent& event, const store::DeliveryRecord* before,
             const store::DeliveryRecord& after);
  void ended_well(const store::AcceptedEvent& event, const store::DeliveryRecord& delivery, const Track& track);
  void has_its_turn(const store::AcceptedEvent& event, const store::DeliveryRecord& delivery,
                    const std::set<core::EventId>& fresh);
  void erased(const store::AcceptedEvent& event);
  void compare(const store::DeliveryTally& tally);

  InboxWorld& world_;
  std::map<core::EventId, store::AcceptedEvent> events_;
  std::map<Digest, core::EventId> by_key_;
  std::map<Lane, std::set<core::EventId>> lanes_;
  std::map<Place, Track> tracks_;
  std::map<Name, Figures> figures_;
  std::map<Place, store::DeliveryRecord> settled_before_;  // of the batch: what it has changed, as it was
  std::set<core::EventId> acknowledged_;
  std::set<std::string> paused_;
  std::string verdict_;
};

}  // namespace semel::sim
