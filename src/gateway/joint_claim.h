// One action under the keys of several events: all of these claims are held while it runs, and end as it ends.
//
// A delivery of a thousand events must not cost a thousand waits for the store. So the first event is claimed alone,
// which lets one of two equal deliveries pass, and then all others together: the store makes few calls of them. If one
// of these is taken, everything is given back and claimed once more, one by one in the order of the keys: of two
// deliveries that share some events, one gets all of its own. The other is told to come again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "policy/identify.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/store.h>

namespace semel::gateway {

// What has become of one of several events before the action.
struct EventShare {
  std::uint64_t fence = 0;  // 0 if it is not ours
  bool superseded = false;
};

// What the action is told: which of the events are its own to handle, and the newest of their fences.
struct JointGrant {
  std::span<const bool> ours;  // by event; an event that is not ours has been handled before
  Fence fence;
  std::span<const EventShare> shares = {};  // by event, if they are several
};
using JointAction = std::move_only_function<Task<Outcome>(JointGrant)>;

struct JointAnswer {
  // Ran: the action ran; its fence is the newest. Refused: one of the events could not be had; the first such answer
  // says why. Superseded: all of them are. Replayed: every other event has been handled; the response is that of the
  // last of them, and null if there was no event at all.
  Answer answer;
  std::size_t superseded = 0;  // events that a newer one of their object has overtaken
};

// What is pointed to must live until this has ended. `company` is a number that no other call has, of this or of
// another process; not 0.
Task<JointAnswer> run_jointly(Once* once, Clock* clock, std::span<const policy::Identity> events, const Policy* policy,
                              std::uint64_t company, JointAction action);

}  // namespace semel::gateway
