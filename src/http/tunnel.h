// Bytes of another protocol, both ways between two connections.
#pragma once

#include "http/connection.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {

// What either side has sent already goes first. Ends when both have closed, one of them breaks, or nothing has moved
// for `silence`; both are of no use afterwards.
Task<void> tunnel(Connection* one, Connection* other, Millis silence);

}  // namespace semel::http
