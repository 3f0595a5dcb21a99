// Prepares a database for `postgres://` stores (see open_postgres_store in stores.h), as `semel migrate` does.
#pragma once

#include <string>

#include <semel/clock.h>
#include <semel/result.h>

namespace semel {

// Versions of the schema before and after; 0 if there was none.
struct Migrated {
  int from = 0;
  int to = 0;
};

// Creates the schema `semel` in the database at `url`, or upgrades it, in one transaction. Does nothing if it is up to
// date. Several callers at once wait for each other. The role needs the right to create; a gateway needs only the
// rights that docs/postgres.md names. Blocks the thread; each statement may take up to a minute.
// Code::unavailable: no server, or a replica. Code::invalid: the address cannot be read, or the schema is newer than
// this version of Semel.
Result<Migrated> migrate_postgres(Clock& clock, const std::string& url);

}  // namespace semel
