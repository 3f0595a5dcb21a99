// A connection of the caller's own, with a table that counts effects, for the tests of one transaction.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include <libpq-fe.h>

#include <gtest/gtest.h>

#include "support/postgres_server.h"
#include <semel/blocking_once.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel::test {

class DatabaseConnection {
 public:
  explicit DatabaseConnection(const std::string& url) : raw_(PQconnectdb(url.c_str()), &PQfinish) {
    if (PQstatus(raw_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(raw_.get()));
  }

  [[nodiscard]] PGconn* get() const { return raw_.get(); }

  // The first column of the first row. Throws.
  std::string run(const std::string& sql) const {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(raw_.get(), sql.c_str()), &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(raw_.get()));
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
  }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> raw_;
};

class OwnConnectionTest : public testing::Test {
 protected:
  OwnConnectionTest() : url_(PostgresServer::shared().fresh_database()), connection_(url_) {
    connection_.run("CREATE TABLE effects (what text NOT NULL)");
  }

  static Key key(const std::string& text = "order-1") { return *make_key("orders", "tenant", text); }
  static Fingerprint print(std::uint8_t first = 1) {
    Fingerprint fingerprint;
    fingerprint.digest[0] = first;
    return fingerprint;
  }
  static Response created(std::string body) { return {.status = 201, .fields = {}, .body = std::move(body)}; }

  // An action that writes one effect and keeps `body`.
  static BlockingAction paying(const DatabaseConnection& connection, std::string body) {
    return [&connection, body](Fence) {
      connection.run("INSERT INTO effects VALUES ('" + body + "')");
      return Outcome::kept(created(body));
    };
  }

  [[nodiscard]] std::string effects() const { return DatabaseConnection(url_).run("SELECT count(*) FROM effects"); }
  [[nodiscard]] std::string records() const { return DatabaseConnection(url_).run("SELECT count(*) FROM semel.keys"); }

  std::string url_;
  DatabaseConnection connection_;
};

inline const Refused& refusal_of(const Answer& answer) {
  return std::get<Refused>(answer);
}

inline std::string body_of(const Answer& answer) {
  if (const auto* ran = std::get_if<Ran>(&answer)) return "ran " + ran->outcome.response->body;
  if (const auto* replayed = std::get_if<Replayed>(&answer)) return "replayed " + replayed->response->body;
  const auto& refused = std::get<Refused>(answer);
  return "refused " + std::string(refused.problem.slug()) + (refused.detail.empty() ? "" : ": " + refused.detail);
}

}  // namespace semel::test
