// The SQL of an outbox, in the database of the program that uses it: what `semel migrate --outbox` runs.
//
//   semel.send(…)        what programs call, within their own transactions
//   semel.outbox_0 … 2   what was sent and has not been moved: one is written to, the others are emptied and truncated
//
// Functions whose names begin with outbox_ are the mover's. Their names end in the version that brought them, so
// gateways of two versions can use one database.
#pragma once

#include <string>
#include <string_view>

namespace semel::outbox {

inline constexpr int outbox_version = 1;

// All of it, as one transaction. Does nothing to an outbox of this version. If it is newer, it raises an error.
std::string outbox_sql();

// Lets a role call semel.send(), and another one move. Both must be there.
std::string grant_writer_sql(std::string_view role);
std::string grant_mover_sql(std::string_view role);

}  // namespace semel::outbox
