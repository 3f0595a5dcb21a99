// What the programs of Semel ask of a database beyond semel/postgres.h and semel/stores.h.
#pragma once

#include <string>
#include <vector>

#include "core/crypto.h"
#include "store/capable_store.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/stores.h>

namespace semel::store::postgres {

// As open_postgres_store() of semel/stores.h. A database that is used for the first time with `keys` gets an identity,
// and opens only with one of them from then on; one that was used without stays as it is.
Result<CapableStore> open_with_keys(Clock& clock, const PostgresOptions& options,
                                    const std::vector<core::AesKey>& keys);

// Records in each database, all of which have the schema, that they share out the keys of one store. Does nothing where
// that is so already. Databases may be added to a set that holds keys: these are found where they are until they
// expire; called again after that, it ends the looking. Code::invalid: a gateway is connected, or a database that holds
// keys was not part of the set before, or they have different identities.
Result<void> join_postgres_shards(Clock& clock, const std::vector<std::string>& urls);

// What migrate_postgres() does, as SQL, for those who let nobody else change their database.
std::string postgres_schema_sql();

// What is set on the server at `url`, or stands before it, so that it can lose what it acknowledged or that those who
// wait are woken late; one sentence each, empty is good.
// Code::unavailable: it cannot be asked, is a replica, or its schema is not one that this version knows.
Result<std::vector<std::string>> inspect_postgres(Clock& clock, const std::string& url);

// Whether the database at `url` stores keys under plain hashes, and will do so as long as it lives. Errors as above.
Result<bool> has_plain_names(Clock& clock, const std::string& url);

}  // namespace semel::store::postgres
