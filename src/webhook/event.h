// What an authentic delivery is about: the event's key, its type, its object.
//
// The key is the provider's own name for the event, never the body or the signature as such: those may differ between
// attempts, or be alike for two events. Where the id is signed, it is enough, and the fingerprint is the same for any
// body. Where it is not, somebody who has one delivery could send it again under another id, or send another body under
// this id. So the hash of the body is the fingerprint then, and another body is refused.
#pragma once

#include <optional>
#include <string>

#include "policy/expression.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "webhook/provider.h"
#include <semel/response.h>

namespace semel::webhook {

struct EventPlace {
  std::string_view space;              // of the webhook
  const policy::Expression* key_from;  // in place of the provider's; may be null
  bool ordered = false;
};

// `signs_id`: of the scheme that the delivery was signed with. The path is the scope: an endpoint with a pattern is as
// many endpoints as there are paths. An event without an object or a readable stamp has no place in the order: better
// delivered than lost.
policy::Identified identify_event(const Provider& provider, const EventPlace& place, bool signs_id,
                                  const policy::RequestView& request);

// For the log: the type and the object, empty where they are not known. Both are cut to 100 characters.
struct EventLabels {
  std::string type;
  std::string object;
};
EventLabels describe_event(const Provider& provider, const policy::RequestView& request);

// The answer that the sender wants in place of the handler's.
Response acknowledgement_reply(const Acknowledgement& ack);

}  // namespace semel::webhook
