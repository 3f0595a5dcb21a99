// The whole body of a request, bounded.
#pragma once

#include <string>

#include "gateway/incoming.h"
#include "gateway/told.h"
#include "http/failure.h"

namespace semel::gateway {

// Fails with too_large beyond `limits.body_bytes`.
http::Attempted<std::string> read_body(const Incoming& incoming);

// What a client is told whose body could not be read.
Told told_bad_body(const Incoming& incoming, http::Failure why);

}  // namespace semel::gateway
