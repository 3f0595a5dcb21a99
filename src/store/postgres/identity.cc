// Looks at all databases, then settles those that are not settled. The answer of a database counts, not what it was
// told.
#include "store/postgres/identity.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include "core/crypto.h"
#include "core/encoding.h"
#include "core/identity.h"
#include "store/identity.h"
#include "store/postgres/admin.h"
#include "store/postgres/connection.h"
#include "store/postgres/server.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr const char* look_sql = "SELECT settled, encode(mark, 'hex'), encode(wrapped, 'hex') FROM semel.identity_1()";
constexpr const char* settle_sql =
    "SELECT settled, encode(mark, 'hex'), encode(wrapped, 'hex')"
    " FROM semel.settle_1(decode(nullif($1, ''), 'hex'), decode(nullif($2, ''), 'hex'))";
constexpr const char* rewrap_sql = "SELECT semel.rewrap_1(decode($1, 'hex'), decode($2, 'hex'))";

constexpr int rewrap_tries = 8;  // another gateway may be doing the same

// What a database has settled on, in hex.
struct StoredName {
  std::string name;  // empty: nothing yet
  std::string wrapped;
};

// A set of databases that are asked one after the other.
class Databases {
 public:
  Databases(const Clock& clock, std::vector<PGconn*> connections, Millis time_max)
      : clock_(clock), connections_(std::move(connections)), time_max_(time_max) {}

  [[nodiscard]] std::size_t count() const { return connections_.size(); }

  [[nodiscard]] Result<StoredName> look(std::size_t which) const {
    return entry_of(ask(clock_, connections_[which], look_sql, {}, time_max_));
  }
  [[nodiscard]] Result<StoredName> settle(std::size_t which, const StoredName& on) const {
    const std::vector<std::string> parameters{on.wrapped.empty() ? "" : on.name, on.wrapped};
    return entry_of(ask(clock_, connections_[which], settle_sql, parameters, time_max_));
  }
  [[nodiscard]] Result<void> rewrap(std::size_t which, const std::string& known, const std::string& wrapped) const {
    const std::vector<std::string> parameters{known, wrapped};
    const auto rows = ask(clock_, connections_[which], rewrap_sql, parameters, time_max_);
    if (!rows) return std::unexpected(rows.error());
    return {};
  }

 private:
  static Result<StoredName> entry_of(const Result<std::vector<Row>>& rows) {
    if (!rows) return std::unexpected(rows.error());
    if (rows->size() != 1) return fail(Code::corrupt, "semel.identity has lost its row; restore the database");
    const Row& row = rows->front();
    if (row[0] != "t") return StoredName{};
    return StoredName{.name = row[1].value_or(plain_name), .wrapped = row[2].value_or("")};
  }

  const Clock& clock_;
  const std::vector<PGconn*> connections_;
  const Millis time_max_;
};

std::unexpected<Error> disagreement() {
  return fail(Code::invalid,
              "the databases of the set name their keys by different identities, so keys of one would not be found in "
              "another; one that holds no keys can be emptied (DROP SCHEMA semel CASCADE) and prepared again");
}

// What some have settled on; the name is empty if none has.
Result<StoredName> look_at_all(const Databases& databases) {
  StoredName found;
  for (std::size_t i = 0; i < databases.count(); ++i) {
    Result<StoredName> one = databases.look(i);
    if (!one) return one;
    if (one->name.empty()) continue;
    if (!found.name.empty() && found.name != one->name) return disagreement();
    found = *std::move(one);
  }
  return found;
}

Result<void> settle_all(const Databases& databases, const StoredName& on) {
  for (std::size_t i = 0; i < databases.count(); ++i) {
    const Result<StoredName> settled = databases.settle(i, on);
    if (!settled) return std::unexpected(settled.error());
    if (settled->name != on.name) return disagreement();
  }
  return {};
}

StoredName proposal(const std::vector<core::AesKey>& keys) {
  if (keys.empty()) return {.name = plain_name, .wrapped = {}};
  const Newborn made = new_identity(keys);
  const Digest mark = core::mark_of(made.identity);
  return {.name = core::to_hex(mark), .wrapped = core::to_hex(made.wrapped)};
}

// The identity in one database, wrapped by the first key when this returns.
Result<core::StoreIdentity> open_one(const Databases& databases, std::size_t which,
                                     const std::vector<core::AesKey>& keys) {
  for (int i = 0; i < rewrap_tries; ++i) {
    const Result<StoredName> entry = databases.look(which);
    if (!entry) return std::unexpected(entry.error());
    Result<Known> known = open_identity(core::from_hex(entry->wrapped).value_or(""), keys, "the database");
    if (!known) return std::unexpected(std::move(known.error()));
    const Digest mark = core::mark_of(known->identity);
    if (core::to_hex(mark) != entry->name) {
      return fail(Code::corrupt, "the row of semel.identity was altered; restore it from a backup of the database");
    }
    const std::optional<std::string>& again = known->rewrapped;
    if (!again) return known->identity;
    const Result<void> rewrapped = databases.rewrap(which, entry->wrapped, core::to_hex(*again));
    if (!rewrapped) return std::unexpected(rewrapped.error());
  }
  return fail(Code::unavailable,
              "gateways with different first keys in store.encryption_keys keep changing the database");
}

struct Guest {
  std::string name;
  std::string set;
  DatabaseConnection connection;
};

// Connects to each; in the order of their names.
Result<std::vector<Guest>> greet_all(const Clock& clock, const std::vector<std::string>& urls, Millis time_max) {
  std::vector<Guest> guests;
  for (const std::string& url : urls) {
    Result<DatabaseConnection> connection = connect_newest(clock, url, time_max);
    if (!connection) return std::unexpected(std::move(connection.error()));
    Result<Server> server = greet(clock, connection->get(), time_max);
    if (!server) return std::unexpected(std::move(server.error()));
    const Result<void> admitted = admit(*server, 0);
    if (!admitted) return std::unexpected(admitted.error());
    guests.push_back({.name = server->name, .set = server->set, .connection = *std::move(connection)});
  }
  std::ranges::sort(guests, {}, &Guest::name);
  return guests;
}

// Part of a set must not be settled: the rest may have settled on something else.
Result<void> whole(const std::vector<Guest>& guests) {
  std::string set;
  for (const Guest& guest : guests) set.append(set.empty() ? "" : " ").append(guest.name);
  if (std::ranges::all_of(guests, [&](const Guest& guest) { return guest.set == set; })) return {};
  return fail(Code::invalid,
              "the addresses of store.url are not the set of shards that the databases were prepared for; "
              "see docs/postgres.md");
}

}  // namespace

Result<Settled> settle_identity(const Clock& clock, const std::vector<std::string>& urls,
                                const std::vector<core::AesKey>& keys, Millis time_max) {
  const Result<std::vector<Guest>> guests = greet_all(clock, urls, time_max);
  if (!guests) return std::unexpected(guests.error());
  const Result<void> complete = whole(*guests);
  if (!complete) return std::unexpected(complete.error());
  std::vector<PGconn*> connections;
  for (const Guest& guest : *guests) connections.push_back(guest.connection.get());
  const Databases databases(clock, std::move(connections), time_max);

  Result<StoredName> entry = look_at_all(databases);
  // Of all gateways that start together, the one that reaches the first database first decides.
  if (entry && entry->name.empty()) entry = databases.settle(0, proposal(keys));
  if (!entry) return std::unexpected(std::move(entry.error()));
  const Result<void> agreed = settle_all(databases, *entry);
  if (!agreed) return std::unexpected(agreed.error());
  Settled settled{.name = entry->name, .identity = std::nullopt};
  if (settled.name == plain_name) return settled;
  for (std::size_t i = 0; i < databases.count(); ++i) {
    const Result<core::StoreIdentity> identity = open_one(databases, i, keys);
    if (!identity) return std::unexpected(identity.error());
    settled.identity = *identity;
  }
  return settled;
}

Result<void> share_identity(const Clock& clock, std::span<PGconn* const> databases, Millis time_max) {
  const Databases all(clock, {databases.begin(), databases.end()}, time_max);
  Result<StoredName> found = look_at_all(all);
  if (!found) return std::unexpected(std::move(found.error()));
  if (found->name.empty()) return {};
  return settle_all(all, *found);
}

Result<bool> has_plain_names(Clock& clock, const std::string& url) {
  constexpr Millis time_max{5'000};
  const Result<DatabaseConnection> connection = connect_newest(clock, url, time_max);
  if (!connection) return std::unexpected(connection.error());
  const Result<Server> server = greet(clock, connection->get(), time_max);
  if (!server) return std::unexpected(server.error());
  return server->identity == plain_name;
}

}  // namespace semel::store::postgres
