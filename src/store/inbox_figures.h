// What an inbox remembers of its batches without reading it back: the tallies, which attempts run that were begun when
// their event was accepted, and which objects are busy.
//
// What a batch changes counts at once for the calls behind it, and is forgotten if the batch could not be written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_table.h"

namespace semel::store {

class InboxFigures {
 public:
  // As it was when the last holder ended.
  void restore(DeliveryTally tally);

  // A delivery that was accepted, in its first state; one that goes from a state to another; bytes that come or go.
  void accepted(const AcceptedEvent& event, const DeliveryRecord& delivery);
  void moved(const AcceptedEvent& event, const DeliveryRecord& delivery, const DeliveryRecord& from);
  // One that was found in no queue.
  void strayed(const AcceptedEvent& event, const DeliveryRecord& delivery);
  void kept_bytes(const AcceptedEvent& event, std::int64_t change);

  [[nodiscard]] std::uint64_t depth_of(const std::string& source) const;
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::vector<DeliveryTally> all() const;

  // The events before this one have no first attempt that runs. None: none has.
  [[nodiscard]] std::optional<core::EventId> oldest_first_attempt() const;
  [[nodiscard]] bool runs_first_attempt(const core::EventId& id) const { return first_attempts_.contains(id); }
  [[nodiscard]] bool busy(const std::string& line) const { return busy_.contains(line); }

  // What counts since then is taken back.
  struct Savepoint {
    std::size_t turns = 0;
    std::size_t counts = 0;
  };
  [[nodiscard]] Savepoint savepoint() const { return {.turns = turns_.size(), .counts = counts_.size()}; }
  void go_back(const Savepoint& savepoint);
  // Of an event that cannot be read, and may have a first attempt that runs: it counts as one.
  void may_run(const core::EventId& id);

  // Writes what has changed.
  void write(InboxTable& table) const;
  void committed();
  void undone();

 private:
  using Name = std::pair<std::string, std::string>;  // source, destination

  // A change of a tally.
  struct Count {
    DeliveryTally* tally = nullptr;
    std::optional<DeliveryState> from;
    std::optional<DeliveryState> to;
    std::int64_t accepted = 0;
    std::int64_t strays = 0;
    std::int64_t bytes = 0;
  };
  void count(Count change);
  static void apply(const Count& change, std::int64_t sign);
  DeliveryTally& tally_of(const AcceptedEvent& event, const std::string& to);
  // An attempt that begins or ends.
  struct Turn {
    core::EventId id;
    bool first = false;  // begun when its event was accepted
    std::string line;    // of its object, as line_prefix() has it; empty if its events have no order
    bool began = false;
  };
  static Turn turn_of(const AcceptedEvent& event, const DeliveryRecord& delivery, bool began);
  void apply(const Turn& turn);
  void take_back_turns(std::size_t left);

  std::map<Name, DeliveryTally> tallies_;
  std::map<Name, DeliveryTally> before_;  // of those that the batch has changed
  std::multiset<core::EventId> first_attempts_;
  std::set<std::string> busy_;  // lines with an attempt that runs
  std::vector<Turn> turns_;     // of the batch, in their order
  std::vector<Count> counts_;   // the same
};

}  // namespace semel::store
