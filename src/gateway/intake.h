// A verified delivery on its way into the inbox: accepted durably, then acknowledged.
#pragma once

#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/told.h"
#include "webhook/webhook.h"
#include <semel/async.h>

namespace semel::gateway {

// Takes the events of `way` in, each under its own key, and begins the attempts for which there is room. The answer is
// an acknowledgement only if all of them are durable, by now or from before. A way that is an answer already stays one.
Task<Told> take_in(const Incoming* incoming, const webhook::Webhook* webhook, Way* way);

}  // namespace semel::gateway
