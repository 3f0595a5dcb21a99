// What an item leaves behind of its key, for the timeline that operators see (telemetry/sighting.h).
//
// A claim that is granted, and its end; and every claim that got another answer. Looks and renewals leave nothing.
#pragma once

#include <optional>

#include "api/access.h"
#include "api/work.h"
#include "telemetry/sighting.h"

namespace semel::api {

// Without a time, and without who called. None if there is nothing to see.
std::optional<telemetry::Sighting> sighting_of(ApiCall call, const ApiJob& job);

}  // namespace semel::api
