// Who a caller is, where a route's scope or key is a claim of its token ([jwt]).
#pragma once

#include <string>

#include "gateway/incoming.h"
#include "gateway/told.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel::gateway {

struct Bearer {
  std::string claims;       // of a token that was verified, as JSON
  std::string fault;        // why the token that came does not count
  bool unknowable = false;  // the keys that would tell cannot be had now
};

// Fetches the set of keys if it has to, as key_cache.h says.
Task<Bearer> bearer_of(const Incoming* incoming);

// Nobody can say whether the token counts, so the caller is asked to come again.
Told told_unknowable();

// The field that goes with 401 (RFC 6750 §3).
Field challenge(const Bearer& bearer);

}  // namespace semel::gateway
