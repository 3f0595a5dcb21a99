// An operation of several steps on PostgreSQL. Each step commits with its recovery point, and a retry resumes after the
// last finished step.
//
//   reserve ──commit──▶ pay out (outside call, derived key) ──commit──▶ book ──commit──▶ answer
//            ▲ crash here: the retry finds `reserve` done and goes on with `pay out`
//
// A step is once() in one transaction, under a key of its own that is made of the operation's key and the step's name.
// Its record is the recovery point. What a step writes on the connection happens once. A call to others can be repeated
// after a crash: pass on key_for(), which is the same every time, so that they deduplicate, too. In the library
// semel::postgres. examples/payout.cc is a whole program.
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

// Handed to the body of run_operation(); do not use it after the body has returned. One thread only.
class Operation {
 public:
  Operation(pg_conn* connection, Key key, Fingerprint fingerprint, Policy policy);

  // The key to pass on to another company in this step; see derived_key().
  [[nodiscard]] std::string key_for(std::string_view step) const;

  // Runs `action` in a transaction (see once_in_transaction()) and returns its response. If an earlier attempt finished
  // this step, returns the response of that time. Only kept() finishes a step. A failure for good is kept, too, and the
  // body has to look at it.
  //
  // Null if the step has not finished (released, refused, in flight). Then return from the body with any Outcome: the
  // caller of run_operation() gets the reason, and later steps do nothing. A name must always mean the same step of the
  // operation, also in later versions of the program.
  SharedResponse step(std::string_view name, BlockingAction action);

  // Why a step has not finished; nullopt if all have so far.
  [[nodiscard]] const std::optional<Answer>& stopped() const { return stopped_; }

 private:
  pg_conn* connection_;
  Key key_;
  Fingerprint fingerprint_;
  Policy policy_;
  std::optional<Answer> stopped_;
};

// Calls the steps in their order. If it returns kept(), that is the answer of the operation from then on. Until then
// every retry calls it again, so anything that it does outside of steps must have no effect. An exception counts as
// unknown().
using OperationBody = std::move_only_function<Outcome(Operation&)>;

// Replays the operation's answer if there is one. Otherwise runs the body, in which finished steps are skipped. The
// connection must be in no transaction. Two callers at once are safe: at each step one of them waits for the other.
// Choose a ttl longer than anybody retries: it counts from each step. No exception leaves it.
Answer run_operation(pg_conn* connection, const Key& key, const Fingerprint& fingerprint, const Policy& policy,
                     OperationBody body);

}  // namespace semel
