// One transaction on your own connection: claim, your writes and the answer commit together, or none of them.
//
//   BEGIN → claim → your writes → complete → COMMIT
//
// This is the mode without an unknown outcome. A crash, a lost connection or an exception at any point leaves either
// everything (the effect and its answer, which a retry replays) or nothing (no effect, no record, and a retry runs).
// A concurrent duplicate waits for the commit and replays it; one that has waited for Policy::wait_max is told
// in-flight. That holds for what you write in this transaction; for what you ask of others, see semel/operation.h.
//
// The record is that of the PostgreSQL store: a gateway on the same database sees it. A database whose
// gateways have encryption keys is refused: they give keys names that only they know. The database must have been
// prepared (semel/postgres.h). In the library semel::postgres. libpqxx: semel/pqxx_transaction.h.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include <semel/blocking_once.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

struct pg_conn;  // libpq's PGconn

namespace semel {

// Begins, claims, calls `action`, completes and commits, on a connection that is in no transaction. The action makes
// its writes on the same connection and must neither commit nor roll back.
//
//   kept()             commits; every later call with this key replays the response, whatever it says
//   released()         rolls back; this caller gets the response, and a retry runs
//   unknown(), throws  rolls back, too: what was written is undone, so nothing is unknown. Without a response: a 500
//
// Of the policy, `wait_max` is how long a duplicate waits, and `on_unknown` is for keys that a gateway left unknown.
// `lease` and `in_flight` have no say. Refused: as by once(); a commit whose answer was lost is store_unavailable, and
// asking again with the same key tells how it ended. Nothing is thrown.
Answer once_in_transaction(pg_conn* connection, const Key& key, const Fingerprint& fingerprint, const Policy& policy,
                           BlockingAction action);

// Who speaks to the server: a statement with $1, $2 … as texts, answered by rows of texts. No exception may leave it.
class SqlSession {
 public:
  virtual ~SqlSession() = default;

  struct Failure {
    std::string state;  // SQLSTATE; empty when the connection is lost
    std::string message;
  };
  using Row = std::vector<std::optional<std::string>>;
  using Rows = std::expected<std::vector<Row>, Failure>;
  virtual Rows run(const std::string& sql, const std::vector<std::string>& parameters) = 0;
};

// The same step by step, for those who begin and commit themselves.
class TransactionClaim {
 public:
  // Claims `key` inside a transaction that has begun on `session`, which must outlive this.
  TransactionClaim(SqlSession& session, Key key, Fingerprint fingerprint, Policy policy);

  // Nothing: the key is yours; make your writes, complete(), commit. Otherwise roll back and answer with this.
  [[nodiscard]] const std::optional<Answer>& answer() const { return answer_; }

  // Whether nothing was applied and beginning anew may help: another transaction was in the way.
  [[nodiscard]] bool collided() const { return collided_; }

  [[nodiscard]] Fence fence() const { return granted_.fence; }

  // Writes the answer beside your writes; it counts when you commit. Code::fenced: there is no claim, it was completed
  // before, or the transaction took longer than the key lives. After an error the transaction can only be rolled back.
  Result<Ran> complete(Response response);

 private:
  void claim();
  void fail_with(const SqlSession::Failure& failure);

  SqlSession& session_;
  Key key_;
  Fingerprint fingerprint_;
  Policy policy_;
  std::optional<Answer> answer_;
  bool collided_ = false;
  bool open_ = false;
  Granted granted_;
};

}  // namespace semel
