// What a request leaves for the tallies and for the doctor, beside its metrics and its line of the log.
#pragma once

#include <cstdint>
#include <memory>

#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/told.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "telemetry/metrics.h"
#include "telemetry/notebook.h"

namespace semel::gateway {

// While the request is still there: what the doctor may want to know of it. Null if that is nothing. `odd` requests are
// always wanted.
std::unique_ptr<telemetry::Clue> clue_of(const Incoming& incoming, const policy::Identity& identity,
                                         const policy::RequestView& request, bool odd);
std::unique_ptr<telemetry::Clue> clue_of(const Incoming& incoming, const Job& job, const Told& told);

// When it has been answered.
void take_note(const Incoming& incoming, const telemetry::RouteMetrics& route, const Told& told);

}  // namespace semel::gateway
