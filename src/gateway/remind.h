// Before a request goes upstream: what a resolver would need to ask about it, if its outcome were lost.
#pragma once

#include "gateway/incoming.h"
#include "gateway/job.h"
#include <semel/async.h>

namespace semel::gateway {

// Does nothing for a request on a route without a resolver.
Task<void> remind(const Incoming* incoming, const Job* job);

}  // namespace semel::gateway
