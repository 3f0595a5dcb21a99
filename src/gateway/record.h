// What is left of a request when it has been answered: counts, and a line of the log.
#pragma once

#include "gateway/incoming.h"
#include "gateway/told.h"
#include "telemetry/metrics.h"

namespace semel::gateway {

void record(const Incoming& incoming, telemetry::RouteMetrics& route, const Told& told);

}  // namespace semel::gateway
