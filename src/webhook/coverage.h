// What a signature vouches for, worked out from what it covers. A provider's file can claim nothing beyond that.
//
// A part is covered if nobody can change its value, or make it disappear, without breaking the signature. It is not
// enough that its bytes are among the signed ones: where values are joined without anything between them, or with
// something that they may contain, they can be cut elsewhere. Such a signature names its event by {sha256:signed}.
#pragma once

#include <cstddef>
#include <vector>

#include "policy/expression.h"
#include "webhook/provider.h"

namespace semel::webhook {

bool covers(const SignatureScheme& scheme, const policy::Part& part);
bool covers(const SignatureScheme& scheme, const policy::Expression& expression);

// What names the events of deliveries that this scheme has verified.
const std::vector<policy::Expression>& ids_of(const Provider& provider, const SignatureScheme& scheme);

// Whether an event that is named by this id, counted from 0, has a signed name: those before it were passed over
// because they were missing, so they must be covered, too.
bool signs_id(const Provider& provider, const SignatureScheme& scheme, std::size_t id);
// Whether all of them are.
bool signs_id(const Provider& provider, const SignatureScheme& scheme);

// Whether the scheme says who sent a delivery and nothing about what is in it: a token, or a signature of a nonce.
bool vouches_for_sender_only(const Provider& provider, const SignatureScheme& scheme);

// The parts of the ids that are believed although they are not covered, each once.
std::vector<policy::Part> unsigned_id_parts(const Provider& provider, const SignatureScheme& scheme);

}  // namespace semel::webhook
