// The destinations of what is about to be accepted, and what begins when it was.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gateway/dispatcher.h"
#include "gateway/incoming.h"
#include "gateway/plan.h"
#include "inbox/destination.h"
#include "inbox/event_view.h"
#include "store/inbox.h"
#include <semel/async.h>

namespace semel::gateway {

enum class Start : std::uint8_t { at_once, later };

// What a filter skips, and where an attempt can start now: a slot has been entered for each of those.
std::vector<store::AcceptOrder::To> destinations_of(const Incoming& incoming, const inbox::InboxRules& intake,
                                                    const inbox::EventView& event, Start start);

// Where attempts begin: the plan of a worker, on its thread.
struct Ground {
  Dispatcher& dispatcher;
  std::shared_ptr<const Plan> plan;
  Executor executor;
};

// What was accepted begins, or is looked for later. A slot that is not used is given back. `event` is null if nothing
// was accepted.
void follow_up(const Ground& ground, const std::vector<store::AcceptOrder::To>& wanted,
               const store::AcceptedEvent* event, const std::shared_ptr<const store::Parcel>& parcel);
void follow_up(const Incoming& incoming, const std::vector<store::AcceptOrder::To>& wanted,
               const store::AcceptedEvent* event, const std::shared_ptr<const store::Parcel>& parcel);

}  // namespace semel::gateway
