// The whole body of a request, bounded.
#pragma once

#include <string>
#include <variant>

#include "gateway/incoming.h"
#include "gateway/told.h"
#include "http/failure.h"
#include <semel/async.h>

namespace semel::gateway {

using ReadBody = std::variant<std::string, Told>;
Task<ReadBody> read_body(const Incoming* incoming);

// What a client is told whose body could not be read.
Told told_bad_body(const Incoming& incoming, http::Failure why);

}  // namespace semel::gateway
