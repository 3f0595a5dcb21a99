// What this process runs of an inbox that others share, and whether it may still act as their holder.
//
// Everything that was made to run here is noted, from before the store is asked to after it has been told of the end.
// So the mark (nothing before it runs since it was accepted here) can be told at any time, and what the store has
// running under this holder without its knowledge can be told apart.
//
// A holder lives from beat to beat. If one is too late, others may have taken it for dead: it forgets all that it ran,
// and goes on under another number. Members may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include <semel/clock.h>

namespace semel::store::postgres {

class HolderBook {
 public:
  // `alive` is how long a holder lives after a beat.
  HolderBook(const Clock& clock, Millis alive);

  // Of the next event that is accepted. It counts as running until one of the next three is called.
  core::EventId next_id();
  void accepted(const AcceptedEvent& event);
  void refused(const core::EventId& id);
  // Nobody knows whether it was accepted.
  void doubted(const core::EventId& id);
  // Those that were doubted; they are forgotten after a while, and left to the auditor.
  [[nodiscard]] std::vector<core::EventId> doubts();
  // It was accepted, and waits or has been taken, as any other: nobody need look for it again.
  void resolved(const core::EventId& id);

  // By this holder. If it has been taken for dead meanwhile, the delivery is not ours.
  void taken(std::uint32_t holder, const core::EventId& id, const std::string& to);
  void ended(const core::EventId& id, const std::string& to);
  // Whether it runs here, and this holder lives.
  [[nodiscard]] bool may_begin(const core::EventId& id, const std::string& to);
  // Whether anything of the event runs here, or may.
  [[nodiscard]] bool knows(const core::EventId& id);

  struct Beat {
    std::uint32_t holder = 0;
    core::EventId mark;
    core::EventId floor;
    Time at{};  // when it was begun
  };
  [[nodiscard]] Beat beat();
  // No event before this is still to be accepted by this holder.
  [[nodiscard]] core::EventId floor();
  // The beat was heard, and answered with how many live, and which of them this one is.
  void beaten(const Beat& beat, DeliveryShare share);
  // A holder that is not alone has no share until the others have had a beat to learn of it.
  [[nodiscard]] DeliveryShare share();
  // Destinations that one holder alone may call, and those of them that this one, under that number, may call now.
  void set_leads(std::uint32_t holder, const std::vector<std::string>& asked, const std::vector<std::string>& granted);
  [[nodiscard]] bool leads(const std::string& to);
  void died(std::uint32_t holder);
  [[nodiscard]] std::uint32_t holder();
  // Whether a beat has been heard lately.
  [[nodiscard]] bool lives();

 private:
  struct Running {
    bool asked = false;  // being accepted, or nobody knows
    std::set<std::string> to;
  };

  void renew_number();
  core::EventId raise_floor();
  void lapse_if_late();

  const Clock& clock_;
  const Millis alive_;
  std::mutex mutex_;
  std::uint32_t holder_ = 0;
  std::uint64_t sequence_ = 0;
  core::EventId newest_;
  Time heard_ = Time::min();  // the beginning of the last beat that was heard; none of this number: the minimum
  struct Standing {
    DeliveryShare share{.of = 1, .at = 1};
    Time since = Time::min();           // of this number
    std::map<std::string, bool> leads;  // destinations that one holder alone may call

    [[nodiscard]] bool may_call(const std::string& to) const {
      const auto found = leads.find(to);
      return found == leads.end() || found->second;
    }
  };
  Standing standing_;
  std::map<core::EventId, Running> fresh_;  // since they were accepted
  std::set<std::pair<core::EventId, std::string>> taken_;
  std::vector<std::pair<core::EventId, Time>> doubts_;
};

}  // namespace semel::store::postgres
