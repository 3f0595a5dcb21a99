// A request on a route with an inbox: answered with 202 and a Location as soon as it is durable.
//
//   first            202, Location            or, with Prefer: wait=5, the real answer if it comes in that time
//   again, same key  202, the same Location   until there is an answer; then that, as a replay
//   GET Location     202 and how it stands    then the answer; for the scope that sent the request, and for nobody else
#pragma once

#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/told.h"
#include "inbox/destination.h"
#include "policy/route.h"
#include <semel/async.h>

namespace semel::gateway {

// Null if the route has no inbox.
const inbox::InboxRules* intake_of(const Incoming& incoming, const policy::Route& route);

Task<Told> take_request(const Incoming* incoming, const policy::Route* route, const inbox::InboxRules* intake,
                        const Job* job);

// Whether a request is for the Location of another.
bool asks_for_accepted(const Incoming& incoming);
Task<Told> show_accepted(const Incoming* incoming);

}  // namespace semel::gateway
