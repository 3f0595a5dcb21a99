// What the functions that work on keys are given, from the calls of a batch in the order of their ids.
#pragma once

#include <span>

#include "store/call.h"
#include "store/postgres/connection.h"
#include "store/postgres/parameters.h"
#include <semel/clock.h>

namespace semel::store::postgres {

using Rows = std::span<const StoreCall* const>;  // all of the kind that the function is for

// What every call begins with.
Parameters opening(const Link& link, Millis patience);

Parameters claim_arguments(const Link& link, Rows rows, Millis patience);
Parameters ordered_arguments(const Link& link, Rows rows, Millis patience);
Parameters renew_arguments(const Link& link, Rows rows, Millis patience);
Parameters complete_arguments(const Link& link, Rows rows, Millis patience);
Parameters release_arguments(const Link& link, Rows rows, Millis patience);
// Claims, and renewals and ends side by side.
Parameters batch_arguments(const Link& link, Rows claims, Rows holders, Millis patience);

}  // namespace semel::store::postgres
