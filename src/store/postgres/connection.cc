// libpq does not block even here. Its own time limit counts in whole seconds and covers connecting only, but a server
// that stops in the middle of a statement must not stop us.
#include "store/postgres/connection.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>
#include <postgres_ext.h>
#include <sys/poll.h>

#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

// Waits until the socket can be read, or written if `events` say so. False if the time is up.
bool await(const Clock& clock, PGconn* connection, short events, Time until) {
  for (;;) {
    const Millis left = until - clock.now();
    if (left <= Millis{0}) return false;
    pollfd descriptor{.fd = PQsocket(connection), .events = events, .revents = 0};
    if (poll(&descriptor, 1, static_cast<int>(std::min<Millis::rep>(left.count(), 1'000))) > 0) return true;
  }
}

using ConnectionOptions = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

// Null if it is no address.
ConnectionOptions parse(const std::string& url) {
  char* message = nullptr;
  PQconninfoOption* const options = PQconninfoParse(url.c_str(), &message);
  PQfreemem(message);  // it may repeat the address
  return {options, &PQconninfoFree};
}

// The items of a list as libpq writes them; none if there is no such option.
std::vector<std::string> items_of(const PQconninfoOption* options, std::string_view keyword) {
  for (; options != nullptr && options->keyword != nullptr; ++options) {
    if (keyword != options->keyword || options->val == nullptr) continue;
    std::vector<std::string> items;
    std::string_view rest(options->val);
    for (;;) {
      const std::size_t comma = rest.find(',');
      items.emplace_back(rest.substr(0, comma));
      if (comma == std::string_view::npos) return items;
      rest.remove_prefix(comma + 1);
    }
  }
  return {};
}

std::unexpected<Error> failed(PGconn* connection) {
  return fail(Code::unavailable, "PostgreSQL: " + one_line(PQerrorMessage(connection)));
}

std::unexpected<Error> too_slow() {
  return fail(Code::unavailable, "PostgreSQL did not answer in time");
}

void ignore_notice(void*, const PGresult*) {}

std::vector<Row> rows_of(const PGresult* result) {
  std::vector<Row> rows(static_cast<std::size_t>(PQntuples(result)));
  for (int row = 0; row < PQntuples(result); ++row) {
    for (int column = 0; column < PQnfields(result); ++column) {
      std::optional<std::string> value;
      if (PQgetisnull(result, row, column) == 0) value = PQgetvalue(result, row, column);
      rows[static_cast<std::size_t>(row)].push_back(std::move(value));
    }
  }
  return rows;
}

}  // namespace

std::string one_line(const char* message) {
  std::string line(message == nullptr ? "" : message);
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  std::ranges::replace(line, '\n', ' ');
  return line.empty() ? "the connection was lost" : line;
}

std::vector<DatabaseHost> hosts_of(const std::string& url) {
  const ConnectionOptions options = parse(url);
  const std::vector<std::string> names = items_of(options.get(), "host");
  const std::vector<std::string> addresses = items_of(options.get(), "hostaddr");
  const std::vector<std::string> ports = items_of(options.get(), "port");
  std::vector<DatabaseHost> hosts(std::max(names.size(), addresses.size()));
  if (hosts.size() < 2) return {};
  // One port is that of all hosts. Lists that do not fit are left for libpq to complain about.
  const auto item = [](const std::vector<std::string>& list, std::size_t i) {
    return i < list.size() ? list[i] : std::string();
  };
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    hosts[i] = {.host = item(names, i),
                .address = item(addresses, i),
                .port = ports.size() == 1 ? ports.front() : item(ports, i)};
  }
  return hosts;
}

Result<DatabaseConnection> connect(const Clock& clock, const std::string& url, Millis time_max,
                                   const DatabaseHost& only, SessionNeeds session) {
  if (parse(url) == nullptr) return fail(Code::invalid, "the address of the PostgreSQL server cannot be read");
  const Time until = clock.now() + time_max;
  // The names before the address are defaults, which the address may override. Those after it override the address.
  std::vector<const char*> names{"fallback_application_name", "target_session_attrs", "keepalives_idle",
                                 "tcp_user_timeout", "dbname"};
  const std::string time_text = std::to_string(time_max.count());
  std::vector<const char*> values{"semel", session == SessionNeeds::any ? "any" : "read-write", "30", time_text.c_str(),
                                  url.c_str()};
  const auto override_with = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    names.push_back(name);
    values.push_back(value.c_str());
  };
  override_with("host", only.host);
  override_with("hostaddr", only.address);
  override_with("port", only.port);
  names.push_back(nullptr);
  values.push_back(nullptr);
  DatabaseConnection connection(PQconnectStartParams(names.data(), values.data(), 1));
  if (connection == nullptr) return fail(Code::unavailable, "no memory for a connection to PostgreSQL");
  PQsetNoticeReceiver(connection.get(), ignore_notice, nullptr);
  if (PQstatus(connection.get()) == CONNECTION_BAD) return failed(connection.get());
  short events = POLLOUT;
  for (;;) {
    if (!await(clock, connection.get(), events, until)) return too_slow();
    switch (PQconnectPoll(connection.get())) {
      case PGRES_POLLING_OK:
        if (PQsetnonblocking(connection.get(), 1) != 0) return failed(connection.get());
        return connection;
      case PGRES_POLLING_READING:
        events = POLLIN;
        break;
      case PGRES_POLLING_WRITING:
        events = POLLOUT;
        break;
      default:
        return failed(connection.get());
    }
  }
}

bool hears(const Clock& clock, PGconn* connection, Millis time_max) {
  const Time until = clock.now() + time_max;
  for (;;) {
    const std::unique_ptr<PGnotify, decltype(&PQfreemem)> notice(PQnotifies(connection), &PQfreemem);
    if (notice != nullptr) return true;
    if (!await(clock, connection, POLLIN, until) || PQconsumeInput(connection) == 0) return false;
  }
}

Result<std::vector<Row>> ask(const Clock& clock, PGconn* connection, const std::string& sql,
                             std::span<const std::string> parameters, Millis time_max) {
  const Time until = clock.now() + time_max;
  std::vector<const char*> values;
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  const int sent = parameters.empty() ? PQsendQuery(connection, sql.c_str())
                                      : PQsendQueryParams(connection, sql.c_str(), static_cast<int>(values.size()),
                                                          nullptr, values.data(), nullptr, nullptr, 0);
  if (sent == 0) return failed(connection);
  std::vector<Row> rows;
  std::optional<Error> error;
  for (;;) {
    const int unsent = PQflush(connection);
    if (unsent < 0) return failed(connection);
    if (unsent > 0 || PQisBusy(connection) != 0) {
      const auto events = static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN);
      if (!await(clock, connection, events, until)) return too_slow();
      if (PQconsumeInput(connection) == 0) return failed(connection);
      continue;
    }
    const Reply result(PQgetResult(connection));
    if (result == nullptr) break;
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_TUPLES_OK) rows = rows_of(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      error = Error{.code = Code::unavailable,
                    .detail = "PostgreSQL: " + one_line(PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY))};
    }
  }
  if (error) return std::unexpected(std::move(*error));
  return rows;
}

}  // namespace semel::store::postgres
