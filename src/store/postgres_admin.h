// What `semel migrate` and `semel check` ask of a database beyond migrate_postgres() (semel/postgres.h).
#pragma once

#include <string>
#include <vector>

#include <semel/clock.h>
#include <semel/result.h>

namespace semel {

// Records in each database, all of which have the schema, that they share out the keys of one store. Does nothing where
// that is so already. Databases may be added to a set that holds keys: these are found where they are until they
// expire; called again after that, it ends the looking. Code::invalid: a gateway is connected, or a database that holds
// keys was not part of the set before.
Result<void> join_postgres_shards(Clock& clock, const std::vector<std::string>& urls);

// What migrate_postgres() does, as SQL, for those who let nobody else change their database.
std::string postgres_schema_sql();

// What is set on the server at `url`, or stands before it, so that it can lose what it acknowledged or that those who
// wait are woken late; one sentence each, empty is good.
// Code::unavailable: it cannot be asked, is a replica, or its schema is not one that this version knows.
Result<std::vector<std::string>> inspect_postgres(Clock& clock, const std::string& url);

}  // namespace semel
