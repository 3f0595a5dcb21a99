// The destinations of what is about to be accepted, and what begins when it was.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gateway/incoming.h"
#include "inbox/destination.h"
#include "inbox/event_view.h"
#include "store/inbox.h"

namespace semel::gateway {

enum class Start : std::uint8_t { at_once, later };

// What a filter skips, and where an attempt can start now: a slot has been entered for each of those.
std::vector<store::AcceptOrder::To> destinations_of(const Incoming& incoming, const inbox::InboxRules& intake,
                                                    const inbox::EventView& event, Start start);

// What was accepted begins, or is looked for later. A slot that is not used is given back. `event` is null if nothing
// was accepted.
void follow_up(const Incoming& incoming, const std::vector<store::AcceptOrder::To>& wanted,
               const store::AcceptedEvent* event, const std::shared_ptr<const store::Parcel>& parcel);

}  // namespace semel::gateway
