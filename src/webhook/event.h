// What an authentic delivery is about: the event's key, its type, its object.
//
// The key is the provider's own name for the event, never the body or the signature as such: those may differ between
// attempts, or be alike for two events. It comes from the scheme that verified the delivery: a header that belongs to
// another scheme says nothing. Where the id is signed, it is enough, and the fingerprint is the same for any body.
// Where it is not, somebody who has one delivery could send it again under another id, or send another body under this
// id. So the hash of the body is the fingerprint then, and another body is refused.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "policy/expression.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "webhook/authenticate.h"
#include "webhook/provider.h"
#include <semel/response.h>

namespace semel::webhook {

struct EventPlace {
  std::string_view space;              // of the webhook
  const policy::Expression* key_from;  // in place of the provider's; may be null
  bool ordered = false;
};

// How the delivery was verified.
struct Proof {
  std::size_t scheme = 0;          // its number
  std::string_view signed_text{};  // empty for keys that are fetched
};
Proof proof_of(const Authentic& authentic);

// The path is the scope: an endpoint with a pattern is as many endpoints as there are paths. If the key is a hash with
// the address in it, the key alone tells the paths apart. An event without an object or a readable stamp has no place
// in the order: better delivered than lost.
policy::Identified identify_event(const Provider& provider, const EventPlace& place, const Proof& proof,
                                  const policy::RequestView& request);

// The key under which a store remembers how far an object has come, and by which an inbox finds its events. None if
// events of the provider have no object.
std::optional<Key> object_key(const EventRules& rules, std::string_view space, std::string_view path,
                              std::string_view object);

// For the log: the type and the object, empty where they are not known. Both are cut to 100 characters.
struct EventLabels {
  std::string type;
  std::string object;
};
EventLabels describe_event(const Provider& provider, const policy::RequestView& request);

// The answer that the sender wants in place of the handler's.
Response acknowledgement_reply(const Acknowledgement& ack);

}  // namespace semel::webhook
