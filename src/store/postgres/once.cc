// once() in one transaction of a libpq connection: either everything is committed, or nothing.
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <libpq-fe.h>
#include <postgres_ext.h>

#include "core/decision.h"
#include "store/postgres/failure.h"
#include "store/postgres/libpq.h"
#include <semel/blocking_once.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/postgres_transaction.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {
namespace {

using ResultPtr = std::unique_ptr<PGresult, decltype(&PQclear)>;

std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

}  // namespace

SqlSession::Rows LibpqSession::run(const std::string& sql, const std::vector<std::string>& parameters) {
  std::vector<const char*> values;
  values.reserve(parameters.size());
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  const ResultPtr result(PQexecParams(connection_, sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(),
                                      nullptr, nullptr, 0),
                         &PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    return std::unexpected(Failure{.state = text_of(PQresultErrorField(result.get(), PG_DIAG_SQLSTATE)),
                                   .message = text_of(PQerrorMessage(connection_))});
  }
  // What the server answers to COMMIT when a statement before it has failed.
  const bool undone = sql == "COMMIT" && text_of(PQcmdStatus(result.get())) == "ROLLBACK";
  if (undone) return std::unexpected(Failure{.state = "25P02", .message = "the transaction had failed before COMMIT"});
  std::vector<Row> rows(static_cast<std::size_t>(PQntuples(result.get())));
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    for (int column = 0; column < PQnfields(result.get()); ++column) {
      const bool absent = PQgetisnull(result.get(), row, column) != 0;
      auto& value = rows[static_cast<std::size_t>(row)].emplace_back();
      if (!absent) value = PQgetvalue(result.get(), row, column);
    }
  }
  return rows;
}

void LibpqSession::roll_back() {
  if (idle()) return;
  PQclear(
      PQexec(connection_, "ROLLBACK"));  // where it cannot be said, the connection is lost, and so is the transaction
}

}  // namespace semel::store::postgres

namespace semel {
namespace {

using store::postgres::LibpqSession;

constexpr int collisions_max = 5;
constexpr std::uint16_t status_failed = 500;

// In a transaction that is rolled back nothing is unknown.
Ran undone(Outcome outcome, Fence fence) {
  outcome.verdict = Verdict::release;
  if (outcome.response == nullptr) {
    outcome.response = std::make_shared<const Response>(
        Response{.status = status_failed, .fields = {}, .body = "The operation failed and changed nothing."});
  }
  return {.outcome = std::move(outcome), .fence = fence, .expires_at = {}};
}

Outcome act(BlockingAction& action, Fence fence) {
  try {
    return action(fence);
  } catch (...) {
    return Outcome::unknown();
  }
}

Answer finish(LibpqSession& session, TransactionClaim& claim, Outcome outcome) {
  if (outcome.verdict != Verdict::keep) {
    session.roll_back();
    return undone(std::move(outcome), claim.fence());
  }
  Result<Ran> ran = claim.complete(outcome.response == nullptr ? Response{.status = 204, .fields = {}, .body = {}}
                                                               : *outcome.response);
  if (!ran) {
    session.roll_back();
    return core::refused_by(ran.error());
  }
  const SqlSession::Rows committed = session.run("COMMIT", {});
  if (committed) return *std::move(ran);
  session.roll_back();
  return core::refused_by(store::postgres::refusal(committed.error().state, committed.error().message));
}

}  // namespace

Answer once_in_transaction(pg_conn* connection, const Key& key, const Fingerprint& fingerprint, const Policy& policy,
                           BlockingAction action) {
  LibpqSession session(connection);
  if (!session.idle()) {
    return core::refused_by(
        {.code = Code::unavailable, .detail = "the connection is lost, or is in a transaction already"});
  }
  for (int attempt = 1;; ++attempt) {
    if (const SqlSession::Rows begun = session.run("BEGIN", {}); !begun) {
      return core::refused_by(store::postgres::refusal(begun.error().state, begun.error().message));
    }
    TransactionClaim claim(session, key, fingerprint, policy);
    const std::optional<Answer>& known = claim.answer();
    if (!known) return finish(session, claim, act(action, claim.fence()));
    session.roll_back();
    if (!claim.collided() || attempt == collisions_max) return *known;
  }
}

}  // namespace semel
