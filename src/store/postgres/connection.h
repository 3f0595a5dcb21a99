// One connection to a PostgreSQL server, and asking it something while nothing else is under way.
//
// Nothing here waits for ever: every call takes a time after which it fails. The message of a failure never holds the
// address, which may hold a password; libpq's own messages name host, port and user.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <libpq-fe.h>

#include "store/postgres/seen.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
};
using DatabaseConnection = std::unique_ptr<PGconn, Finish>;
using Reply = std::unique_ptr<PGresult, Finish>;

// How statements are called on a connection. A prepared one spares the server parsing and planning it, but belongs to
// one server process, and a pooler hands out another one every time.
enum class Calling : std::uint8_t { by_text, prepared };

struct Link {
  DatabaseConnection connection;
  Calling calling = Calling::by_text;
  std::string standing{};  // of what was behind it when it was made; every call says so (Server::standing)
  Greeted greeted{};       // the same, for comparing it with what is known by now
};

// One of the hosts that an address names. What it leaves out is empty.
struct DatabaseHost {
  std::string host;
  std::string address;
  std::string port;
};

// The hosts that `url` itself names, if there are several; else none.
std::vector<DatabaseHost> hosts_of(const std::string& url);

// What a server must be good for.
enum class SessionNeeds : std::uint8_t { read_write, any };

// Connects as libpq does: `url` is anything that libpq takes (several hosts, sslmode, service files, .pgpass). Of
// several hosts the first one that is good for the session is used; with `only`, that one or none. Code::invalid: not
// an address. Code::unavailable: no server answered in time, or it refused.
Result<DatabaseConnection> connect(const Clock& clock, const std::string& url, Millis time_max,
                                   const DatabaseHost& only = {}, SessionNeeds session = SessionNeeds::read_write);

using Row = std::vector<std::optional<std::string>>;

// Runs one statement with text parameters and returns its rows as text. Without parameters, runs any number of
// statements as one transaction. Code::unavailable: it failed; or it took too long, and then the connection cannot be
// used any more.
Result<std::vector<Row>> ask(const Clock& clock, PGconn* connection, const std::string& sql,
                             std::span<const std::string> parameters, Millis time_max);

// Whether a notification arrives within `time_max`. No statement may be under way.
bool hears(const Clock& clock, PGconn* connection, Millis time_max);

// The server's message about a failed statement or connection, as one line.
std::string one_line(const char* message);

}  // namespace semel::store::postgres
