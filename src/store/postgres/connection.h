// One connection to a PostgreSQL server, and asking it something while nothing else is under way.
//
// Nothing here waits without an end: every call takes a time after which it fails. A failure never holds the address,
// which may hold a password; what libpq says of a failed attempt names host, port and user.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <libpq-fe.h>

#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
};
using DatabaseConnection = std::unique_ptr<PGconn, Finish>;
using Reply = std::unique_ptr<PGresult, Finish>;

// How statements are called on a connection. Prepared ones spare the server reading and planning them, but belong to
// one server process, and a pooler hands out another one every time.
enum class Calling : std::uint8_t { by_text, prepared };

struct Link {
  DatabaseConnection connection;
  Calling calling = Calling::by_text;
};

// Connects, as libpq users expect it: `url` is anything that it takes (several hosts, sslmode, service files, .pgpass).
// Where several hosts are named, the one that takes writes is meant. Code::invalid: not an address. Code::unavailable:
// nobody answered in time, or the server refused.
Result<DatabaseConnection> connect(const Clock& clock, const std::string& url, Millis time_max);

using Row = std::vector<std::optional<std::string>>;

// Runs one statement with text parameters, and gives its rows as text; or, without parameters, any number of statements
// as one transaction. Code::unavailable: it failed, or took too long, and then the connection is of no use any more.
Result<std::vector<Row>> ask(const Clock& clock, PGconn* connection, const std::string& sql,
                             std::span<const std::string> parameters, Millis time_max);

// Whether a notification comes in within `time_max`, while nothing is asked.
bool hears(const Clock& clock, PGconn* connection, Millis time_max);

// The server's message of a failed statement or connection as one line.
std::string one_line(const char* message);

}  // namespace semel::store::postgres
