// What Semel's own programs need of a database beyond semel/postgres.h and semel/stores.h.
#pragma once

#include <string>
#include <vector>

#include "core/crypto.h"
#include "store/capable_store.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/stores.h>

namespace semel::store::postgres {

inline constexpr Millis default_node_beat{5'000};

// As open_postgres_store() of semel/stores.h. A database that is first used with `keys` gets an identity, and from then
// on opens only with one of them. A database that was used without keys stays as it is.
// `node_beat` is how often a gateway that uses the inbox says that it lives; after three without that it counts as
// dead.
Result<CapableStore> open_with_keys(Clock& clock, const PostgresOptions& options, const std::vector<core::AesKey>& keys,
                                    Millis node_beat = default_node_beat);

// Records in each database that together they are the shards of one store. All of them must have the schema. Does
// nothing if that is recorded already. Databases may be added to a set that holds keys: old keys are found where they
// are until they expire. Called again after that, this ends the search in two places. Code::invalid: a gateway is
// connected, or a database that holds keys was not part of the set before, or identities differ.
Result<void> join_postgres_shards(Clock& clock, const std::vector<std::string>& urls);

// What migrate_postgres() does, as SQL, for operators who run it themselves.
std::string postgres_schema_sql();

// Settings of the server at `url`, or of a pooler in front of it, by which it can lose acknowledged writes or wake
// waiting callers late. One sentence each; empty is good.
// Code::unavailable: it cannot be asked, is a replica, or its schema is not one that this version knows.
Result<std::vector<std::string>> inspect_postgres(Clock& clock, const std::string& url);

// Whether the database at `url` stores keys under plain hashes, and always will. Errors as above.
Result<bool> has_plain_names(Clock& clock, const std::string& url);

}  // namespace semel::store::postgres
