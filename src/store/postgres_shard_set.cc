// Which databases belong together: recorded in each of them, and compared before any key is looked for.
#include <algorithm>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "store/postgres_connection.h"
#include "store/postgres_shards.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::postgres {
namespace {

struct Member {
  Connection connection;
  std::string name;
  std::vector<std::string> set;  // sorted
};

constexpr const char* set_sql = "SELECT shard, here FROM semel.shards ORDER BY shard";
constexpr const char* live_sql =
    "SELECT count(*) FROM (SELECT FROM semel.keys WHERE expires_at > now() OR "
    "(state = 'running' AND lease_until > now()) LIMIT 1) AS live";
constexpr const char* used_sql =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
    "application_name = 'semel' AND pid <> pg_backend_pid()";
constexpr const char* record_sql =
    "WITH gone AS (DELETE FROM semel.shards WHERE NOT here AND shard <> ALL ($1::uuid[])) "
    "INSERT INTO semel.shards (shard, here) SELECT s, false FROM unnest($1::uuid[]) AS s ON CONFLICT DO NOTHING";

Result<Member> meet(const Clock& clock, const std::string& url, Millis time_max) {
  Result<Connection> connection = connect(clock, url, time_max);
  if (!connection) return std::unexpected(std::move(connection.error()));
  const auto rows = ask(clock, connection->get(), set_sql, {}, time_max);
  if (!rows) return std::unexpected(rows.error());
  Member member{.connection = *std::move(connection), .name = {}, .set = {}};
  for (const Row& row : *rows) {
    member.set.push_back(row[0].value_or(""));
    if (row[1] == "t") member.name = member.set.back();
  }
  return member;
}

Result<std::vector<Member>> meet_all(const Clock& clock, const std::vector<std::string>& urls, Millis time_max) {
  std::vector<Member> members;
  for (const std::string& url : urls) {
    Result<Member> member = meet(clock, url, time_max);
    if (!member) return std::unexpected(std::move(member.error()));
    if (std::ranges::find(members, member->name, &Member::name) != members.end()) {
      return fail(Code::invalid, "two addresses of store.url lead to the same database");
    }
    members.push_back(*std::move(member));
  }
  return members;
}

std::vector<std::string> set_of(const std::vector<Member>& members) {
  std::vector<std::string> names;
  names.reserve(members.size());
  for (const Member& member : members) names.push_back(member.name);
  std::ranges::sort(names);
  return names;
}

// Whether something is there that another set would not find.
Result<void> unused(const Clock& clock, const Member& member, Millis time_max) {
  const auto live = ask(clock, member.connection.get(), live_sql, {}, time_max);
  if (!live) return std::unexpected(live.error());
  if (live->front()[0] != "0") {
    return fail(Code::invalid,
                "a database holds keys that have not expired: with another set of shards they would be "
                "looked for elsewhere, and their requests could run again");
  }
  const auto used = ask(clock, member.connection.get(), used_sql, {}, time_max);
  if (!used) return std::unexpected(used.error());
  if (used->front()[0] != "0") {
    return fail(Code::invalid, "a gateway is connected to a database whose set of shards is to change; stop it first");
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> names_of(const Clock& clock, const std::vector<std::string>& urls, Millis time_max) {
  const Result<std::vector<Member>> members = meet_all(clock, urls, time_max);
  if (!members) return std::unexpected(members.error());
  const std::vector<std::string> set = set_of(*members);
  std::vector<std::string> names;
  for (const Member& member : *members) {
    if (member.set != set) {
      return fail(Code::invalid,
                  "the addresses of store.url are not the set of shards that the databases were "
                  "prepared for; see docs/postgres.md");
    }
    names.push_back(member.name);
  }
  return names;
}

Result<void> record_shards(const Clock& clock, const std::vector<std::string>& urls, Millis time_max) {
  const Result<std::vector<Member>> members = meet_all(clock, urls, time_max);
  if (!members) return std::unexpected(members.error());
  const std::vector<std::string> set = set_of(*members);
  if (std::ranges::all_of(*members, [&](const Member& member) { return member.set == set; })) return {};
  for (const Member& member : *members) {
    Result<void> free = unused(clock, member, time_max);
    if (!free) return free;
  }
  std::string list = "{";
  for (const std::string& name : set) list.append(list.size() > 1 ? "," : "").append(name);
  const std::vector<std::string> parameters{list + "}"};
  for (const Member& member : *members) {
    const auto recorded = ask(clock, member.connection.get(), record_sql, parameters, time_max);
    if (!recorded) return std::unexpected(recorded.error());
  }
  return {};
}

}  // namespace semel::postgres
