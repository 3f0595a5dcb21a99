// The attempts of an event's deliveries, as the history has them.
#pragma once

#include "admin/sources.h"
#include "core/json/writer.h"
#include "store/inbox.h"
#include <semel/async.h>
#include <semel/result.h>

namespace semel::admin {

// The members `attempts`, oldest first, and `attempts_partial` of an object: the newest are missing, or the history
// cannot be read. Numbers that are not there were not kept, or nobody lived to note them.
Task<void> write_attempts(const Sources* sources, const store::AcceptedEvent* event, core::json::JsonWriter* json);

}  // namespace semel::admin
