// The calls of a history as statements, and their rows as answers. See schema_2_history.cc.
#pragma once

#include <libpq-fe.h>

#include "store/call.h"
#include "store/postgres/connection.h"
#include <semel/clock.h>

namespace semel::store::postgres {

inline constexpr std::size_t prune_rows = 5'000;  // of one call

// Queues the statement of such a call on a connection in pipeline mode. False: the connection is lost.
[[nodiscard]] bool send_history(const Link& link, const StoreCall& call, Millis patience);

// Fills in its answer.
void read_history(const PGresult* reply, StoreCall& call);

}  // namespace semel::store::postgres
