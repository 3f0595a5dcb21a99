// Questions to the catalogue and the settings of a server. None of them needs a right.
#include "store/postgres/server.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include "store/postgres/admin.h"
#include "store/postgres/connection.h"
#include "store/postgres/sql.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr const char* greeting =
    "SELECT pg_is_in_recovery(), to_regclass('semel.schema_version') IS NOT NULL, pg_backend_pid()";
// The name of a file of the log begins with the timeline. Asking for it needs no right.
constexpr const char* timeline_sql = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)";
constexpr const char* newest_version = "SELECT max(version) FROM semel.schema_version";
// One statement, so that all of it is about one database, also behind a pooler. A standing begins with the timeline and
// ends with the home.
constexpr const char* details =
    "SELECT pg_is_in_recovery(), CASE WHEN NOT pg_is_in_recovery() THEN semel.standing_6() END,"
    " (SELECT shard FROM semel.shards WHERE here),"
    " (SELECT string_agg(shard::text, ' ' ORDER BY shard) FROM semel.shards),"
    " (SELECT coalesce(encode(mark, 'hex'), CASE WHEN settled THEN 'plain' END) FROM semel.identity_1()),"
    " semel.pulse_4(), semel.reigns_6()";
constexpr const char* settings =
    "SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),"
    " current_setting('synchronous_standby_names') = '' AND EXISTS (SELECT FROM pg_stat_get_wal_senders())";

template <class Number>
Number number_in(const std::optional<std::string>& text, int base) {
  Number number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number, base);
  return number;
}

std::vector<std::pair<std::int64_t, std::string>> reigns_in(std::string_view text) {
  std::vector<std::pair<std::int64_t, std::string>> reigns;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t space = std::min(line.find(' '), line.size());
    reigns.emplace_back(number_in<std::int64_t>(std::string(line.substr(0, space)), 10),
                        line.substr(std::min(space + 1, line.size())));
  }
  return reigns;
}

}  // namespace

Result<DatabaseConnection> connect_newest(const Clock& clock, const std::string& url, Millis time_max) {
  const std::vector<DatabaseHost> hosts = hosts_of(url);
  if (hosts.empty()) return connect(clock, url, time_max);
  constexpr Millis host_max{2'000};  // one that does not answer must not keep the others waiting for long
  time_max = std::min(time_max, host_max);
  Result<DatabaseConnection> newest = fail(Code::unavailable, "none of the PostgreSQL servers has a timeline");
  std::uint32_t highest = 0;
  for (const DatabaseHost& host : hosts) {
    Result<DatabaseConnection> connection = connect(clock, url, time_max, host);
    if (!connection) {
      if (highest == 0) newest = std::move(connection);
      continue;
    }
    const auto rows = ask(clock, connection->get(), timeline_sql, {}, time_max);
    const auto timeline = rows ? number_in<std::uint32_t>(rows->front()[0], 16) : 0U;
    if (!rows && highest == 0) newest = std::unexpected(rows.error());
    if (timeline <= highest) continue;
    highest = timeline;
    newest = std::move(connection);
  }
  return newest;
}

Result<Server> greet(const Clock& clock, PGconn* connection, Millis time_max) {
  const auto rows = ask(clock, connection, greeting, {}, time_max);
  if (!rows) return std::unexpected(rows.error());
  const Row& row = rows->front();
  Server server;
  server.replica = row[0] == "t";
  // A pooler in between gives out a number of its own when the connection is made.
  server.pooled = number_in<int>(row[2], 10) != PQbackendPID(connection);
  if (row[1] != "t") return server;
  const auto version = ask(clock, connection, newest_version, {}, time_max);
  if (!version) return std::unexpected(version.error());
  server.schema_version = number_in<int>(version->front()[0], 10);
  if (server.schema_version < schema_version_min) return server;
  const auto found = ask(clock, connection, details, {}, time_max);
  if (!found) return std::unexpected(found.error());
  const Row& detail = found->front();
  server.replica = detail[0] == "t";
  server.standing = detail[1].value_or("");
  server.timeline = number_in<std::uint32_t>(detail[1], 16);
  server.home = server.standing.substr(server.standing.rfind(' ') + 1);
  server.name = detail[2].value_or("");
  server.set = detail[3].value_or("");
  server.identity = detail[4].value_or("");
  server.pulse = number_in<std::int64_t>(detail[5], 10);
  server.reigns = reigns_in(detail[6].value_or(""));
  return server;
}

Result<void> admit(const Server& server, std::uint32_t timeline_seen) {
  if (server.replica) return fail(Code::unavailable, "the PostgreSQL server is a replica; claims need the primary");
  if (server.timeline < timeline_seen) {
    return fail(Code::unavailable, "the PostgreSQL server is a former primary: another has taken over since");
  }
  if (server.schema_version == 0) {
    return fail(Code::unavailable, "the database has no schema of Semel; run `semel migrate` first");
  }
  if (server.schema_version < schema_version_min) {
    return fail(Code::unavailable, "the schema in the database is older than this version; run `semel migrate`");
  }
  if (server.schema_version > schema_version_max) {
    return fail(Code::unavailable, "the schema in the database is newer than this version of Semel knows");
  }
  return {};
}

Result<std::vector<std::string>> dangers(const Clock& clock, PGconn* connection, Millis time_max) {
  const auto rows = ask(clock, connection, settings, {}, time_max);
  if (!rows) return std::unexpected(rows.error());
  const Row& row = rows->front();
  std::vector<std::string> found;
  if (row[0] == "off") found.emplace_back("fsync = off: a crash of the server can lose or damage every key");
  if (row[1] == "off") found.emplace_back("full_page_writes = off: a crash of the server can damage keys");
  if (row[2] == "off") {
    found.emplace_back("synchronous_commit = off: a crash of the server loses claims that were acknowledged");
  }
  if (row[2] == "local") found.emplace_back("synchronous_commit = local: a failover loses acknowledged claims");
  if (row[3] == "t") {
    found.emplace_back(
        "replication is asynchronous: a failover can lose acknowledged claims; see "
        "synchronous_standby_names");
  }
  return found;
}

// A pooler that hands out another server process for each transaction accepts LISTEN, but then nothing is heard.
Result<bool> notifies(const Clock& clock, const std::string& url, PGconn* connection, Millis time_max) {
  constexpr Millis way_max{1'000};
  const Result<DatabaseConnection> other = connect(clock, url, time_max);
  if (!other) return std::unexpected(other.error());
  const std::string channel = "semel_check_" + std::to_string(static_cast<unsigned>(PQbackendPID(connection)));
  const auto listening = ask(clock, connection, "LISTEN " + channel, {}, time_max);
  if (!listening) return std::unexpected(listening.error());
  const auto told = ask(clock, other->get(), "NOTIFY " + channel, {}, time_max);
  if (!told) return std::unexpected(told.error());
  return hears(clock, connection, way_max);
}

Result<std::vector<std::string>> inspect_postgres(Clock& clock, const std::string& url) {
  constexpr Millis time_max{5'000};
  const Result<DatabaseConnection> connection = connect_newest(clock, url, time_max);
  if (!connection) return std::unexpected(connection.error());
  const Result<Server> server = greet(clock, connection->get(), time_max);
  if (!server) return std::unexpected(server.error());
  const Result<void> admitted = admit(*server, 0);
  if (!admitted) return std::unexpected(admitted.error());
  Result<std::vector<std::string>> found = dangers(clock, connection->get(), time_max);
  if (!found) return found;
  const Result<bool> heard = notifies(clock, url, connection->get(), time_max);
  if (!heard) return std::unexpected(heard.error());
  if (!*heard) {
    found->emplace_back(
        "NOTIFY does not get through, probably because of a pooler: those who wait for a key that runs on another "
        "gateway hear of its end up to a second late");
  }
  return found;
}

}  // namespace semel::store::postgres
