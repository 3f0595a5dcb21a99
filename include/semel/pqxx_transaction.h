// For libpqxx: one transaction with your own writes, like semel/postgres_transaction.h, on a pqxx::connection of yours.
//
// Header-only: link semel::postgres and libpqxx. An action gets the pqxx::work that the claim was made in, writes
// through it, and must neither commit nor abort it. An exception that leaves the action rolls back, whether it is
// libpqxx's or another.
#pragma once

#include <cstddef>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pqxx/pqxx>

#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/postgres_transaction.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel {

// A transaction of libpqxx as a SqlSession. The transaction must outlive it.
class PqxxSession : public SqlSession {
 public:
  explicit PqxxSession(pqxx::transaction_base& transaction) : transaction_(transaction) {}

  Rows run(const std::string& sql, const std::vector<std::string>& parameters) override {
    try {
      std::vector<Row> rows;
      for (const auto& from : transaction_.exec_params(sql, pqxx::prepare::make_dynamic_params(parameters))) {
        Row& row = rows.emplace_back();
        for (const auto& field : from) {
          row.emplace_back();
          if (!field.is_null()) row.back() = field.c_str();
        }
      }
      return rows;
    } catch (const pqxx::sql_error& error) {
      return std::unexpected(Failure{.state = error.sqlstate(), .message = error.what()});
    } catch (const std::exception& error) {
      return std::unexpected(Failure{.state = {}, .message = error.what()});
    }
  }

 private:
  pqxx::transaction_base& transaction_;
};

using PqxxAction = std::move_only_function<Outcome(pqxx::work&, Fence)>;

// Begins, claims, calls `action`, completes and commits. The connection must be in no transaction. Nothing is thrown.
inline Answer once_in_transaction(pqxx::connection& connection, const Key& key, const Fingerprint& fingerprint,
                                  const Policy& policy, PqxxAction action) {
  Refused refused{.problem = Problem::of(ProblemType::store_unavailable), .retry_after = Millis{1'000}, .detail = {}};
  Ran undone;  // the answer after a rollback, if the action gives none
  undone.outcome =
      Outcome::released({.status = 500, .fields = {}, .body = "The operation failed and changed nothing."});
  bool acting = false;
  try {
    pqxx::work work(connection);  // rolls back unless it is committed
    PqxxSession session(work);
    TransactionClaim claim(session, key, fingerprint, policy);
    if (claim.answer()) return *claim.answer();
    undone.fence = claim.fence();
    acting = true;
    Outcome outcome = action(work, claim.fence());
    acting = false;
    if (outcome.verdict != Verdict::keep) {
      if (outcome.response != nullptr) undone.outcome.response = std::move(outcome.response);
      return undone;
    }
    Result<Ran> ran = claim.complete(outcome.response == nullptr ? Response{.status = 204, .fields = {}, .body = {}}
                                                                 : *outcome.response);
    if (ran) {
      work.commit();
      return *std::move(ran);
    }
    refused.detail = ran.error().detail;
  } catch (const std::exception& error) {
    refused.detail = error.what();
  } catch (...) {
    refused.detail = "an exception of an unknown type";
  }
  if (acting) return undone;
  return refused;
}

}  // namespace semel
