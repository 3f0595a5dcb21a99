// A step is a key of its own; the operation's key is written last.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/decision.h"
#include "core/sha256.h"
#include "store/postgres/failure.h"
#include "store/postgres/libpq.h"
#include <semel/blocking_once.h>
#include <semel/derived_key.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/operation.h>
#include <semel/postgres_transaction.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel {
namespace {

// In the same namespace and scope, so that operators find it beside the operation.
Key step_key(const Key& operation, std::string_view name) {
  const std::string_view id(reinterpret_cast<const char*>(operation.id.data()), operation.id.size());
  return {.id = core::sha256_parts("semel step v1", {id, name}), .scope = operation.scope, .space = operation.space};
}

// What the operation's key says before anything is done: an answer, or nothing. Leaves no trace.
std::optional<Answer> look(pg_conn* connection, const Key& key, const Fingerprint& fingerprint, const Policy& policy) {
  store::postgres::LibpqSession session(connection);
  if (!session.idle()) {
    return core::refused_by(
        {.code = Code::unavailable, .detail = "the connection is lost, or is in a transaction already"});
  }
  if (const SqlSession::Rows begun = session.run("BEGIN", {}); !begun) {
    return core::refused_by(store::postgres::refusal(begun.error().state, begun.error().message));
  }
  const TransactionClaim claim(session, key, fingerprint, policy);
  session.roll_back();
  return claim.answer();
}

Outcome act(OperationBody& body, Operation& operation) {
  try {
    return body(operation);
  } catch (...) {
    return Outcome::unknown();
  }
}

}  // namespace

Operation::Operation(pg_conn* connection, Key key, Fingerprint fingerprint, Policy policy)
    : connection_(connection), key_(std::move(key)), fingerprint_(fingerprint), policy_(policy) {}

std::string Operation::key_for(std::string_view step) const {
  return derived_key(key_, step);
}

SharedResponse Operation::step(std::string_view name, BlockingAction action) {
  if (stopped_) return nullptr;
  Answer answer = once_in_transaction(connection_, step_key(key_, name), fingerprint_, policy_, std::move(action));
  if (const auto* replayed = std::get_if<Replayed>(&answer)) return replayed->response;
  const auto* ran = std::get_if<Ran>(&answer);
  if (ran != nullptr && ran->outcome.verdict == Verdict::keep) return ran->outcome.response;
  stopped_ = std::move(answer);
  return nullptr;
}

Answer run_operation(pg_conn* connection, const Key& key, const Fingerprint& fingerprint, const Policy& policy,
                     OperationBody body) {
  if (std::optional<Answer> known = look(connection, key, fingerprint, policy)) return *std::move(known);
  Operation operation(connection, key, fingerprint, policy);
  Outcome outcome = act(body, operation);
  if (const std::optional<Answer>& stopped = operation.stopped()) return *stopped;
  // An outcome that is not kept goes the same way: rolled back, told, and run again by a retry.
  return once_in_transaction(connection, key, fingerprint, policy, [&outcome](Fence) { return outcome; });
}

}  // namespace semel
