// on_unknown = "probe": before a further attempt of an event, its upstream is asked what became of the earlier ones.
//
// The first attempt needs none. An attempt that an operator asks for is not probed: the answer would be about what was
// there before.
#pragma once

#include <optional>

#include "gateway/handler_call.h"
#include "gateway/plan.h"
#include "inbox/destination.h"
#include "store/inbox.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {

// None: the attempt is to be made, because none before it took effect, or nobody has to be asked. Otherwise what takes
// its place: done, or still unknown. What is pointed to must live until this has ended.
Task<std::optional<HandlerAnswer>> ask_handler(const Plan* plan, const inbox::Destination* destination,
                                               const store::TakenDelivery* delivery, const store::Parcel* parcel,
                                               Clock* clock);

}  // namespace semel::gateway
