// One action under the keys of several events, or of one: all of these claims are held while it runs, and end as it
// ends.
//
// Each event is claimed by once() with the claims of the rest as its action; the innermost action is the real one. So
// if one of them is taken, those before it are released, and the sender is told to come again.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "policy/identify.h"
#include <semel/async.h>
#include <semel/once.h>
#include <semel/store.h>

namespace semel::gateway {

// What the action is told: which of the events are its own to handle, and the newest of their fences.
struct JointGrant {
  std::span<const bool> ours;  // by event; an event that is not ours has been handled before
  Fence fence;
};
using JointAction = std::move_only_function<Task<Outcome>(JointGrant)>;

struct JointAnswer {
  // Ran: the action ran; its fence is that of the event claimed last. Refused: one of the events could not be had; the
  // first such answer says why. Superseded: all of them are. Replayed: every other event has been handled; the response
  // is that of the last of them, and null if there was no event at all.
  Answer answer;
  std::size_t superseded = 0;  // events that a newer one of their object has overtaken
};

// What is pointed to must live until this has ended.
Task<JointAnswer> run_jointly(Once* once, std::span<const policy::Identity> events, const Policy* policy,
                              JointAction action, Probe probe);

}  // namespace semel::gateway
