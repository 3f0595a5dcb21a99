// One attempt of an event at its destination: the request that is sent, and what its answer means.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/config.h"
#include "gateway/plan.h"
#include "inbox/destination.h"
#include "inbox/verdict.h"
#include "store/inbox.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>

namespace semel::gateway {

struct HandlerAnswer {
  inbox::Ruling ruling;
  std::uint16_t status = 0;  // 0 if there was none
  std::string why;           // in a few words
  SharedResponse kept;       // what the sender of a request is to hear; null if it is an event, or not done
  bool askable = true;       // false: nobody can be asked what became of an attempt
};

// What is pointed to must live until this has ended.
Task<HandlerAnswer> call_handler(const Plan* plan, const inbox::Destination* destination,
                                 const store::TakenDelivery* delivery, const store::Parcel* parcel, Clock* clock);

// What the store is told: done, to be tried again, or at an end. `chance` is a random number in [0, 1).
store::SettleOrder settlement_of(const store::TakenDelivery& delivery, const inbox::Destination& destination,
                                 const HandlerAnswer& answer, const config::InboxConfig& config, Time now,
                                 double chance);

}  // namespace semel::gateway
