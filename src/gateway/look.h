// A look at a request: whether it ends here, whose key it has, which way it goes.
#pragma once

#include <optional>
#include <string>

#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/told.h"
#include "policy/route.h"
#include <semel/async.h>

namespace semel::gateway {

// What concerns a request whatever its path is. Null if it is meant for us, has not been here before, and goes on.
std::optional<Told> answer_here(const Incoming& incoming);

// Reads the key, the scope and the fingerprint of a guarded request. Most keys and scopes can be told, and refused,
// before the body has been read. `body` is where the body is kept; the way refers to it.
Task<Way> look_at_request(const Incoming* incoming, const policy::Route* route, std::string* body);

}  // namespace semel::gateway
