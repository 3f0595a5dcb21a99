// A look at a delivery of a webhook: who sent it, and which events it holds. Nothing is stored before it is verified.
#pragma once

#include <cstdint>
#include <string>

#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/told.h"
#include "webhook/webhook.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel::gateway {

// `body` is where the body is kept; the look refers to it.
Task<Way> look_at_delivery(const Incoming* incoming, const webhook::Webhook* webhook, std::string* body);

// Whether the handler's answer with this status is replaced by what the sender wants to hear.
bool acknowledges(const webhook::Webhook* webhook, std::uint16_t status);
// What the sender of an event hears that has been handled: the provider's acknowledgement, or an empty 200.
Response acknowledgement(const webhook::Webhook* webhook);

// Counts how an event ended.
void count_event(const Incoming& incoming, const webhook::Webhook& webhook, const Told& told);

}  // namespace semel::gateway
