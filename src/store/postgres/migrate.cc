// Creates and upgrades the schema. Two programs that do so at once wait for each other.
#include <array>
#include <expected>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

#include "store/postgres/admin.h"
#include "store/postgres/connection.h"
#include "store/postgres/schema_1.h"
#include "store/postgres/schema_2.h"
#include "store/postgres/schema_3.h"
#include "store/postgres/schema_4.h"
#include "store/postgres/schema_5.h"
#include "store/postgres/schema_6.h"
#include "store/postgres/server.h"
#include "store/postgres/shards.h"
#include "store/postgres/sql.h"
#include <semel/clock.h>
#include <semel/postgres.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

std::string joined(std::span<const std::string_view> parts) {
  std::string whole;
  for (const std::string_view part : parts) whole.append(part);
  return whole;
}
std::string joined(std::initializer_list<std::string_view> parts) {
  return joined(std::span(parts.begin(), parts.size()));
}

}  // namespace

std::span<const Migration> migrations() {
  static const std::string first = joined({tables_1, objects_1, identity_1, await_1});
  static const std::string second = joined({standing_2, claim_2, former_2, ordered_2, holders_2, look_2, sweep_2,
                                            before_2, desk_2, audit_2, history_2, settings_2});
  static const std::string third = joined(
      {inbox_3, lines_3, accept_3, turns_3, settle_3, adopt_3, inbox_audit_3, inbox_desk_3, inbox_sweep_3, settings_3});
  static const std::string fourth = joined(parts_4());
  static const std::string fifth = joined(parts_5());
  static const std::string sixth = joined({batch_6, reigns_6, accept_6, reclaim_6, put_back_6, settings_6});
  static const std::array<Migration, 6> all{{{.version = 1, .sql = first},
                                             {.version = 2, .sql = second},
                                             {.version = 3, .sql = third},
                                             {.version = 4, .sql = fourth},
                                             {.version = 5, .sql = fifth},
                                             {.version = 6, .sql = sixth}}};
  return all;
}

namespace {

constexpr Millis time_max{60'000};
// Any number will do, if every version of Semel takes the same.
constexpr const char* lock = "SELECT pg_advisory_xact_lock(7309455312)";

std::string transaction(const Migration& migration) {
  return std::string("BEGIN;\n").append(lock).append(";\n").append(migration.sql).append("COMMIT;\n");
}

Result<Migrated> migrate(Clock& clock, const std::string& url) {
  const Result<DatabaseConnection> connection = connect_newest(clock, url, Millis{10'000});
  if (!connection) return std::unexpected(connection.error());
  PGconn* const link = connection->get();
  const auto named = ask(clock, link, not_a_gateway, {}, time_max);
  if (!named) return std::unexpected(named.error());
  // Looked at inside the lock, so that a schema that another program has just created is seen.
  const auto locked = ask(clock, link, std::string("BEGIN; ") + lock, {}, time_max);
  if (!locked) return std::unexpected(locked.error());
  const Result<Server> server = greet(clock, link, time_max);
  if (!server) return std::unexpected(server.error());
  if (server->replica) return fail(Code::unavailable, "the server is a replica; migrate on the primary");
  if (server->schema_version > schema_version_max) {
    return fail(Code::invalid, "the schema in the database is newer than this version of Semel");
  }
  Migrated migrated{.from = server->schema_version, .to = server->schema_version};
  for (const Migration& migration : migrations()) {
    if (migration.version <= server->schema_version) continue;
    const auto applied = ask(clock, link, std::string(migration.sql), {}, time_max);
    if (!applied) return std::unexpected(applied.error());
    migrated.to = migration.version;
  }
  const auto committed = ask(clock, link, "COMMIT", {}, time_max);
  if (!committed) return std::unexpected(committed.error());
  return migrated;
}

}  // namespace

std::string postgres_schema_sql() {
  std::string sql = "-- The schema of Semel's PostgreSQL store. Run it once, as the owner of the database.\n";
  for (const Migration& migration : migrations()) sql += transaction(migration);
  return sql;
}

Result<void> join_postgres_shards(Clock& clock, const std::vector<std::string>& urls) {
  return record_shards(clock, urls, Millis{10'000});
}

}  // namespace semel::store::postgres

namespace semel {

Result<Migrated> migrate_postgres(Clock& clock, const std::string& url) {
  return store::postgres::migrate(clock, url);
}

}  // namespace semel
