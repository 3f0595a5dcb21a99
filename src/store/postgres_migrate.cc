// Creating and upgrading the schema. Two that migrate at once wait for each other.
#include <array>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include <libpq-fe.h>

#include "store/postgres_admin.h"
#include "store/postgres_connection.h"
#include "store/postgres_schema_1.h"
#include "store/postgres_server.h"
#include "store/postgres_shards.h"
#include "store/postgres_sql.h"
#include <semel/clock.h>
#include <semel/postgres.h>
#include <semel/result.h>

namespace semel {
namespace postgres {

std::span<const Migration> migrations() {
  static const std::string first =
      std::string(tables_1).append(claim_1).append(former_1).append(ordered_1).append(identity_1).append(holders_1);
  static const std::array<Migration, 1> all{{{.version = 1, .sql = first}}};
  return all;
}

}  // namespace postgres

namespace {

constexpr Millis time_max{60'000};
// Any number will do, if every version of Semel takes the same.
constexpr const char* lock = "SELECT pg_advisory_xact_lock(7309455312)";

std::string transaction(const postgres::Migration& migration) {
  return std::string("BEGIN;\n").append(lock).append(";\n").append(migration.sql).append("COMMIT;\n");
}

}  // namespace

std::string postgres_schema_sql() {
  std::string sql = "-- The schema of Semel's PostgreSQL store. Run it once, as the owner of the database.\n";
  for (const postgres::Migration& migration : postgres::migrations()) sql += transaction(migration);
  return sql;
}

Result<Migrated> migrate_postgres(Clock& clock, const std::string& url) {
  const Result<postgres::Connection> connection = postgres::connect(clock, url, Millis{10'000});
  if (!connection) return std::unexpected(connection.error());
  PGconn* const link = connection->get();
  const auto named = postgres::ask(clock, link, postgres::not_a_gateway, {}, time_max);
  if (!named) return std::unexpected(named.error());
  // A schema that somebody else creates meanwhile is found by the second look, inside the lock.
  const auto locked = postgres::ask(clock, link, std::string("BEGIN; ") + lock, {}, time_max);
  if (!locked) return std::unexpected(locked.error());
  const Result<postgres::Server> server = postgres::greet(clock, link, time_max);
  if (!server) return std::unexpected(server.error());
  if (server->replica) return fail(Code::unavailable, "the server is a replica; migrate on the primary");
  if (server->schema_version > postgres::schema_version_max) {
    return fail(Code::invalid, "the schema in the database is newer than this version of Semel");
  }
  Migrated migrated{.from = server->schema_version, .to = server->schema_version};
  for (const postgres::Migration& migration : postgres::migrations()) {
    if (migration.version <= server->schema_version) continue;
    const auto applied = postgres::ask(clock, link, std::string(migration.sql), {}, time_max);
    if (!applied) return std::unexpected(applied.error());
    migrated.to = migration.version;
  }
  const auto committed = postgres::ask(clock, link, "COMMIT", {}, time_max);
  if (!committed) return std::unexpected(committed.error());
  return migrated;
}

Result<void> join_postgres_shards(Clock& clock, const std::vector<std::string>& urls) {
  return postgres::record_shards(clock, urls, Millis{10'000});
}

}  // namespace semel
