// A replay outlives the credentials that it was made with.
#pragma once

#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/told.h"
#include "policy/expression.h"
#include <semel/async.h>

namespace semel::gateway {

// Asks the upstream for `target`, with the credentials of this caller, whether they still count. Returns `replay` if it
// says yes; its 401 or 403 if it says no. Otherwise a refusal: nothing is replayed without a yes.
Task<Told> revalidated(const Incoming* incoming, const Job* job, const policy::Expression* target, Told replay);

}  // namespace semel::gateway
