// What kind of server is at the other end: may claims be kept there, and what should its operator know?
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include "store/postgres/connection.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {

struct Server {
  bool replica = false;
  std::uint32_t timeline = 0;  // grows with every failover
  int schema_version = 0;      // 0: there is no schema
  std::string name;            // of the database among its shards
  std::string set;             // the names of all its shards
  std::string identity;  // what it has settled on: "plain" or the mark of an identity in hex; empty if nothing yet
  std::string
      standing{};  // what calls are compared with; another one after a failover, and for another set, identity or home
  std::int64_t pulse = 0;                                      // how far it is (seen.h)
  std::vector<std::pair<std::int64_t, std::string>> reigns{};  // since which pulse it was raised where, oldest first
  std::string home{};   // where the database lives: a copy has another one, a standby the same
  bool pooled = false;  // a pooler stands in between and hands out server processes
};

// As connect(), for a caller that has seen no primary yet: of several hosts that take writes, the one with the highest
// timeline is used. The others have been primaries before.
Result<DatabaseConnection> connect_newest(const Clock& clock, const std::string& url, Millis time_max);

// Asks over a connection that is idle.
Result<Server> greet(const Clock& clock, PGconn* connection, Millis time_max);

// Refuses a server that must not be used: a replica, a primary that another has replaced since (its timeline is older
// than one seen before), a schema that this version does not know.
Result<void> admit(const Server& server, std::uint32_t timeline_seen);

// Settings by which an acknowledged write can be lost: fsync, synchronous_commit, asynchronous replication.
Result<std::vector<std::string>> dangers(const Clock& clock, PGconn* connection, Millis time_max);

// Whether a NOTIFY over another connection to `url` is heard on this one. Callers that wait for a key need that.
Result<bool> notifies(const Clock& clock, const std::string& url, PGconn* connection, Millis time_max);

}  // namespace semel::store::postgres
