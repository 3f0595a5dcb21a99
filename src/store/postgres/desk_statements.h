// What an operator asks, as statements, and their rows as answers. See schema_2_desk.cc and schema_2_audit.cc.
#pragma once

#include <string>

#include <libpq-fe.h>

#include "store/call.h"
#include "store/postgres/connection.h"
#include <semel/clock.h>

namespace semel::store::postgres {

// Queues the statement of a call of an operator on a connection in pipeline mode. False: the connection is lost.
[[nodiscard]] bool send_desk(const Link& link, const StoreCall& call, Millis patience);

// Fills in the answer of such a call, but for a settlement, which is read as the calls of holders are.
void read_desk(const PGresult* reply, StoreCall& call);

// Whether a list can go on from here.
[[nodiscard]] bool is_cursor(const std::string& cursor);

}  // namespace semel::store::postgres
