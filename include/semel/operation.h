// An operation of several steps on PostgreSQL: each step commits with its recovery point, and a retry resumes after the
// last one that has finished.
//
//   reserve ──commit──▶ pay out (outside call, derived key) ──commit──▶ book ──commit──▶ answer
//            ▲ crash here: the retry finds `reserve` done and goes on with `pay out`
//
// A step is once() in one transaction under a key of its own, made of the operation's key and the step's name: its
// record is the recovery point. What a step writes on the connection happens once. What it asks of others can be asked
// again after a crash: pass on key_for(), which is the same every time, so that they deduplicate too.
// In the library semel::postgres.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <semel/blocking_once.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/response.h>

struct pg_conn;  // libpq's PGconn

namespace semel {

// Handed to the body of run_operation(), and of no use afterwards.
class Operation {
 public:
  Operation(pg_conn* connection, Key key, Fingerprint fingerprint, Policy policy);

  // The key to give to somebody else in this step: as derived_key().
  [[nodiscard]] std::string key_for(std::string_view step) const;

  // Runs `action` in a transaction (see once_in_transaction()), or, if an earlier attempt finished this step, gives
  // what it said then. Only kept() finishes a step; a failure for good is kept, too, and is for the body to look at.
  // Nothing: the step has not finished (released, refused, in flight). Return from the body with anything: what the
  // caller hears is why. A name stands for one step of the operation, for ever.
  SharedResponse step(std::string_view name, BlockingAction action);

  [[nodiscard]] const std::optional<Answer>& stopped() const { return stopped_; }

 private:
  pg_conn* connection_;
  Key key_;
  Fingerprint fingerprint_;
  Policy policy_;
  std::optional<Answer> stopped_;
};

// The steps in their order; kept() is the answer of the operation from then on. It is called again by every retry until
// it has one, so whatever it does outside of steps must have no effect.
using OperationBody = std::move_only_function<Outcome(Operation&)>;

// Replays the operation's answer if there is one; otherwise runs the body, which skips the steps that are done. Two
// callers at once are safe: at each step one of them waits for the other. Choose a ttl longer than anybody retries: it
// counts from each step. No exception leaves it.
Answer run_operation(pg_conn* connection, const Key& key, const Fingerprint& fingerprint, const Policy& policy,
                     OperationBody body);

}  // namespace semel
