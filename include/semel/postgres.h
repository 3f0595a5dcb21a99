// Preparing a database for `postgres://` stores (see open_postgres_store in stores.h). What `semel migrate` does.
#pragma once

#include <string>

#include <semel/clock.h>
#include <semel/result.h>

namespace semel {

// Versions of the schema; 0 is none.
struct Migrated {
  int from = 0;
  int to = 0;
};

// Creates the schema `semel` in the database at `url`, or upgrades it, in one transaction. Does nothing where it is up
// to date. Needs the right to create; a gateway needs only the rights that docs/postgres.md names.
Result<Migrated> migrate_postgres(Clock& clock, const std::string& url);

}  // namespace semel
