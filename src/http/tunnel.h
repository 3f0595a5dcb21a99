// Bytes of another protocol, both ways between two connections.
#pragma once

#include "http/connection.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {

// Bytes that a side has sent already go first. Ends when both sides have closed, one of them breaks, or nothing has
// moved for `silence`. Neither connection can be used afterwards.
Task<void> tunnel(Connection* one, Connection* other, Millis silence);

}  // namespace semel::http
