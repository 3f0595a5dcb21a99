// One transaction on your own connection: the claim, your writes and the answer commit together, or nothing does.
//
//   BEGIN → claim → your writes → complete → COMMIT
//
// This mode has no unknown outcome. After a crash, a lost connection or an exception at any point, there is either
// everything (the effect and its answer, which a retry replays) or nothing (no effect, no record, and a retry runs). A
// concurrent duplicate waits for the commit and replays it; after Policy::wait_max it is refused with in-flight. This
// holds for your writes in this transaction. For calls to others, see semel/operation.h.
//
// The record is the same as in the PostgreSQL store, so a gateway on the same database sees it. A database whose
// gateways have encryption keys is refused, because they give keys names that only they know. So is a database that is
// one of several shards, because the key may live in another one. The database must have been prepared
// (semel/postgres.h). In the library semel::postgres. For libpqxx, see semel/pqxx_transaction.h.
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

// Begins, claims, calls `action`, completes and commits. The connection stays yours, must be in no transaction, and
// must not be used by another thread meanwhile. The action makes its writes on the same connection, on this thread, and
// must neither commit nor roll back.
//
//   kept()             commits; every later call with this key replays the response, whatever it says
//   released()         rolls back; this caller gets the response, and a retry runs
//   unknown(), throws  rolls back, too: the writes are undone, so nothing is unknown. Without a response: a 500
//
// Of the policy, `wait_max` is how long a duplicate waits, and `on_unknown` is for keys that a gateway left unknown
// (there is no probe here). `lease` and `in_flight` are ignored. Refused means the same as from once(). If the answer
// to the commit was lost, it is store_unavailable: call again with the same key to find out how it ended. Nothing is
// thrown.
Answer once_in_transaction(pg_conn* connection, const Key& key, const Fingerprint& fingerprint, const Policy& policy,
                           BlockingAction action);

// Runs one statement on the server, for TransactionClaim. Implement it to use another client library. Parameters ($1,
// $2 …) and results are texts. No exception may leave it.
class SqlSession {
 public:
  virtual ~SqlSession() = default;

  struct Failure {
    std::string state;  // SQLSTATE; empty if the connection is lost
    std::string message;
  };
  using Row = std::vector<std::optional<std::string>>;  // nullopt: SQL NULL
  using Rows = std::expected<std::vector<Row>, Failure>;
  virtual Rows run(const std::string& sql, const std::vector<std::string>& parameters) = 0;
};

// The same step by step, for programs that begin and commit the transaction themselves.
class TransactionClaim {
 public:
  // Claims `key` at once, inside a transaction that has begun on `session`. The session must outlive this object.
  TransactionClaim(SqlSession& session, Key key, Fingerprint fingerprint, Policy policy);

  // nullopt if the key is yours: make your writes, call complete() and commit. Otherwise roll back and answer with
  // this.
  [[nodiscard]] const std::optional<Answer>& answer() const { return answer_; }

  // True if another transaction was in the way (deadlock, serialization). Nothing was applied; roll back and begin
  // again.
  [[nodiscard]] bool collided() const { return collided_; }

  // Of the claim; meaningful only if answer() is nullopt.
  [[nodiscard]] Fence fence() const { return granted_.fence; }

  // Writes the answer in the same transaction; it counts when you commit. After an error the transaction can only be
  // rolled back.
  // Code::fenced: there is no claim, it was completed before, or the transaction took longer than the key lives.
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
