// The ways to the upstream without a key: streamed both ways, or with a body that has been read.
#pragma once

#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/told.h"
#include "gateway/upstream_head.h"
#include "policy/forward.h"
#include "policy/target.h"
#include <semel/async.h>
#include <semel/once.h>

namespace semel::gateway {

// Streams the request up and the answer down; nothing is kept, and nothing is promised.
Task<Told> pass(const Incoming* incoming, const policy::Target* target);

// `guarded_by` is null unless the request has a key that could not be claimed: the client hears what that means for it.
Task<Told> forward(const Incoming* incoming, WithoutKey request, const Policy* guarded_by);

// How the request reached us, for the head that goes up.
policy::Hop hop_of(const Incoming& incoming);
// The frame of a body that was read.
BodyFrame frame_of(const Incoming& incoming, const policy::RequestView& request);

}  // namespace semel::gateway
