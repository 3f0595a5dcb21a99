// Which databases belong together: recorded in each of them, and compared by every call before it looks for a key.
#include <algorithm>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include <libpq-fe.h>
#include <sys/poll.h>

#include "store/postgres/connection.h"
#include "store/postgres/identity.h"
#include "store/postgres/server.h"
#include "store/postgres/shards.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

using Names = std::vector<std::string>;  // sorted

struct Member {
  DatabaseConnection connection;
  std::string name;
  Names set;
  Names former;        // the part of the set that was the whole set before; empty if that no longer matters
  bool holds = false;  // keys that have not expired
};

constexpr const char* set_sql = "SELECT shard, here, former_until IS NOT NULL FROM semel.shards ORDER BY shard";
constexpr const char* live_sql =
    "SELECT count(*) FROM (SELECT FROM semel.keys WHERE expires_at > now() OR "
    "(state = 'running' AND lease_until > now()) LIMIT 1) AS live";
// Ordered events are found by their object alone, so they cannot be looked for in two places.
constexpr const char* ordered_sql =
    "SELECT (EXISTS (SELECT FROM semel.objects WHERE expires_at > now()) OR EXISTS (SELECT FROM semel.inbox_lines) OR "
    "EXISTS (SELECT FROM semel.inbox_newest WHERE until > extract(epoch FROM now()) * 1000))::integer";
constexpr const char* used_sql =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
    "application_name = 'semel' AND pid <> pg_backend_pid()";
// $1: the set, $2: the part of it where keys from before may still be found, $3: until when.
constexpr const char* record_sql =
    "WITH gone AS (DELETE FROM semel.shards WHERE NOT here AND shard <> ALL ($1::uuid[])) "
    "INSERT INTO semel.shards (shard, here, former_until) "
    "SELECT s, false, CASE WHEN s = ANY ($2::uuid[]) THEN $3::timestamptz END FROM unnest($1::uuid[]) AS s "
    "ON CONFLICT (shard) DO UPDATE SET former_until = excluded.former_until";
// Every call holds this lock, shared, until its transaction ends (schema_2.cc).
constexpr const char* keep_calls_out_sql =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '4s'; SELECT pg_advisory_xact_lock(7309455314)";
constexpr const char* last_expiry_sql = "SELECT coalesce(max(expires_at), now()) + interval '1 minute' FROM semel.keys";
// Whether every key that was claimed before the change has expired, and none of them is still at work.
constexpr const char* over_sql =
    "SELECT max(former_until) <= now() AND NOT EXISTS (SELECT FROM semel.keys k WHERE k.state = 'running' AND "
    "k.lease_until > now() AND k.expires_at <= (SELECT max(former_until) FROM semel.shards)) FROM semel.shards";

Result<void> look(const Clock& clock, Member& member, Millis time_max) {
  const auto rows = ask(clock, member.connection.get(), set_sql, {}, time_max);
  if (!rows) return std::unexpected(rows.error());
  member.set.clear();
  member.former.clear();
  for (const Row& row : *rows) {
    member.set.push_back(row[0].value_or(""));
    if (row[1] == "t") member.name = member.set.back();
    if (row[2] == "t") member.former.push_back(member.set.back());
  }
  return {};
}

Result<Member> meet(const Clock& clock, const std::string& url, Millis time_max) {
  Result<DatabaseConnection> connection = connect_newest(clock, url, time_max);
  if (!connection) return std::unexpected(std::move(connection.error()));
  const auto named = ask(clock, connection->get(), not_a_gateway, {}, time_max);
  if (!named) return std::unexpected(named.error());
  Member member{.connection = *std::move(connection), .name = {}, .set = {}, .former = {}};
  const Result<void> looked = look(clock, member, time_max);
  if (!looked) return std::unexpected(looked.error());
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

Names set_of(const std::vector<Member>& members) {
  Names names;
  names.reserve(members.size());
  for (const Member& member : members) names.push_back(member.name);
  std::ranges::sort(names);
  return names;
}

std::string array_of(const Names& names) {
  std::string list = "{";
  for (const std::string& name : names) list.append(list.size() > 1 ? "," : "").append(name);
  return list + "}";
}

Result<std::string> answer_of(const Clock& clock, const Member& member, const char* sql, Millis time_max) {
  const auto rows = ask(clock, member.connection.get(), sql, {}, time_max);
  if (!rows) return std::unexpected(rows.error());
  return rows->front()[0].value_or("");
}

// Refuses while a gateway can be seen, out of courtesy: it would serve nothing any more. One that cannot be seen,
// behind a pooler or under another name, is stopped by its next call, which carries the standing of before. One that
// was just stopped is still seen for a moment.
Result<void> unused(const Clock& clock, const std::vector<Member>& members, Millis time_max) {
  constexpr Millis moment{2'000};
  constexpr int pause_ms = 50;
  const auto end = clock.stopwatch() + moment;
  for (const Member& member : members) {
    Result<std::string> used = answer_of(clock, member, used_sql, time_max);
    while (used && *used != "0" && clock.stopwatch() < end) {
      ::poll(nullptr, 0, pause_ms);
      used = answer_of(clock, member, used_sql, time_max);
    }
    if (!used) return std::unexpected(used.error());
    if (*used != "0") {
      return fail(Code::invalid, "a gateway is connected to a database whose set of shards changes; stop it first");
    }
  }
  return {};
}

Result<void> unordered(const Clock& clock, const std::vector<Member>& members, Millis time_max) {
  for (const Member& member : members) {
    const Result<std::string> remembered = answer_of(clock, member, ordered_sql, time_max);
    if (!remembered) return std::unexpected(remembered.error());
    if (*remembered != "0") {
      return fail(
          Code::invalid,
          "a database remembers how far the events of ordered webhooks have come, and would be asked no longer; "
          "a shard can be added when they have expired (semel.objects, semel.inbox_lines, semel.inbox_newest)");
    }
  }
  return {};
}

Result<void> record(const Clock& clock, const std::vector<Member>& members, const Names& former,
                    const std::string& until, Millis time_max) {
  const std::vector<std::string> parameters{array_of(set_of(members)), array_of(former), until};
  for (const Member& member : members) {
    const auto recorded = ask(clock, member.connection.get(), record_sql, parameters, time_max);
    if (!recorded) return std::unexpected(recorded.error());
  }
  return {};
}

// The set by which the present keys were shared out; empty if there are none. A change that was interrupted, and so was
// recorded in some of the databases only, is taken up again.
Result<Names> set_of_keys(const std::vector<Member>& members) {
  const Names all = set_of(members);
  Names found;
  for (const Member& member : members) {
    const bool begun = member.set == all && !member.former.empty();
    const Names& before = begun ? member.former : member.set;
    if (!begun && !member.former.empty()) {
      return fail(Code::invalid, "the set of shards has been changed lately, and keys of before are still there");
    }
    if (!member.holds && !begun) continue;
    if (!found.empty() && found != before) {
      return fail(Code::invalid, "databases that hold keys were not one set before; their keys would not be found");
    }
    found = before;
  }
  if (!std::ranges::includes(all, found)) {
    return fail(Code::invalid,
                "a database is left out of the set that holds keys that have not expired: they would be looked for "
                "elsewhere, and their requests could run again");
  }
  return found;
}

// No key of before is left: from now on each is looked for only where it belongs.
Result<void> end_change(const Clock& clock, const std::vector<Member>& members, Millis time_max) {
  for (const Member& member : members) {
    const Result<std::string> over = answer_of(clock, member, over_sql, time_max);
    if (!over) return std::unexpected(over.error());
    if (*over != "t") return {};
  }
  return record(clock, members, {}, "now", time_max);
}

// The latest expiry of any key, by the clocks of the servers.
Result<std::string> last_expiry(const Clock& clock, const std::vector<Member>& members, Millis time_max) {
  std::string latest;
  for (const Member& member : members) {
    const std::vector<std::string> parameters{latest.empty() ? "-infinity" : latest};
    const std::string sql = std::string("SELECT greatest($1::timestamptz, (") + last_expiry_sql + "))";
    const auto rows = ask(clock, member.connection.get(), sql, parameters, time_max);
    if (!rows) return std::unexpected(rows.error());
    latest = rows->front()[0].value_or("");
  }
  return latest;
}

// Until the end of the transaction that this begins in each database no call is under way there, so nothing is claimed
// that has not been looked at. In the order of the names, so that two migrations do not wait for each other.
Result<void> keep_calls_out(const Clock& clock, std::vector<Member>& members, Millis time_max) {
  std::ranges::sort(members, {}, &Member::name);
  for (Member& member : members) {
    const auto locked = ask(clock, member.connection.get(), keep_calls_out_sql, {}, time_max);
    if (!locked) {
      return fail(Code::unavailable,
                  "a transaction that has claimed a key is under way, and does not end: " + locked.error().detail);
    }
    Result<void> looked = look(clock, member, time_max);
    if (!looked) return looked;
    const Result<std::string> live = answer_of(clock, member, live_sql, time_max);
    if (!live) return std::unexpected(live.error());
    member.holds = *live != "0";
  }
  return {};
}

Result<void> commit(const Clock& clock, const std::vector<Member>& members, Millis time_max) {
  for (const Member& member : members) {
    const auto committed = ask(clock, member.connection.get(), "COMMIT", {}, time_max);
    if (!committed) return std::unexpected(committed.error());
  }
  return {};
}

Result<void> carry_identity(const Clock& clock, const std::vector<Member>& members, Millis time_max) {
  std::vector<PGconn*> databases;
  databases.reserve(members.size());
  for (const Member& member : members) databases.push_back(member.connection.get());
  return share_identity(clock, databases, time_max);
}

}  // namespace

Result<ShardNames> names_of(const Clock& clock, const std::vector<std::string>& urls, Millis time_max) {
  const Result<std::vector<Member>> members = meet_all(clock, urls, time_max);
  if (!members) return std::unexpected(members.error());
  const Names set = set_of(*members);
  ShardNames names;
  for (const Member& member : *members) {
    if (member.set != set || member.former != members->front().former) {
      return fail(Code::invalid,
                  "the addresses of store.url are not the set of shards that the databases were "
                  "prepared for; see docs/postgres.md");
    }
    names.all.push_back(member.name);
  }
  names.former = members->front().former;
  return names;
}

Result<void> record_shards(const Clock& clock, const std::vector<std::string>& urls, Millis time_max) {
  Result<std::vector<Member>> members = meet_all(clock, urls, time_max);
  if (!members) return std::unexpected(members.error());
  const Names set = set_of(*members);
  const Names& former = members->front().former;
  const auto as_recorded = [&](const Member& member) { return member.set == set && member.former == former; };
  if (std::ranges::all_of(*members, as_recorded)) {
    Result<void> shared = carry_identity(clock, *members, time_max);
    return !shared || former.empty() ? shared : end_change(clock, *members, time_max);
  }
  Result<void> alone = keep_calls_out(clock, *members, time_max);
  if (!alone) return alone;
  const Result<Names> before = set_of_keys(*members);
  if (!before) return std::unexpected(before.error());
  Result<void> unseen = unused(clock, *members, time_max);
  if (!unseen) return unseen;
  const bool grown = *before != set;  // otherwise the keys are where they belong
  if (grown) {
    Result<void> movable = unordered(clock, *members, time_max);
    if (!movable) return movable;
  }
  const Result<std::string> until = last_expiry(clock, *members, time_max);
  if (!until) return std::unexpected(until.error());
  // Together with the set, so that no gateway finds a database that is part of it and has another identity, or none.
  Result<void> shared = carry_identity(clock, *members, time_max);
  if (!shared) return shared;
  Result<void> recorded = record(clock, *members, grown ? *before : Names{}, *until, time_max);
  return !recorded ? recorded : commit(clock, *members, time_max);
}

}  // namespace semel::store::postgres
