// Why a request was refused, in words for its sender.
//
// Each type stands for one situation, with a usual status, an advice, a title and an explanation. The table in
// docs/guarantees.md lists the status and the advice of each type. The gateway and the Guard (semel/guard.h) send a
// problem as application/problem+json (RFC 9457). A program that calls once() itself renders it as it likes:
//
//   const semel::Problem& problem = refused.problem;
//   reply.status(problem.status).body(fmt::format("{}: {}", problem.slug(), problem.detail()));
//
// A Problem is a plain value. All texts are constants of the program: they live for ever, are ASCII, and hold nothing
// of the request. All members may be called from any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace semel {

// Each problem is listed with its source. The gateway can send all of them, the Guard those of the first two rows.
//
//   once()    in_flight, outcome_unknown, key_reused, store_unavailable, record_corrupt
//   Guard     key_missing, key_invalid, scope_missing, signature_invalid, body_too_large
//   gateway   rate_limited, quota_exceeded, upstream_unreachable, no_route, misdirected
enum class ProblemType : std::uint8_t {
  key_missing,        // The route requires a key, and the request has none.
  key_invalid,        // The key cannot be read: empty, too long, several lines, or characters that a key cannot have.
  scope_missing,      // The part of the request that identifies the caller is missing.
  signature_invalid,  // The signature of a webhook is missing, wrong or too old. Nothing was stored.

  // An earlier request with this key is still running, or another event of the same object is.
  in_flight,

  // An attempt was cut off after it may have taken effect, or its result could not be stored. Nobody knows. The caller
  // whose own attempt it was gets another status than later callers (see Refused in semel/once.h).
  outcome_unknown,

  body_too_large,        // The body of a guarded request is over the limit.
  key_reused,            // The key belongs to a different request: method, target or body differ.
  rate_limited,          // Too many requests in a short time.
  quota_exceeded,        // The scope has as many live keys, or as many stored bytes, as it may.
  upstream_unreachable,  // There is no connection to the service. Nothing was sent to it.
  store_unavailable,     // The store did not answer or has no room, so the action did not run.
  record_corrupt,        // The stored record is damaged, was altered, or cannot be decrypted.
  no_route,              // No route of the gateway names the path.
  misdirected,           // The request is for a host that the gateway does not answer for.
};

struct Problem {
  // What the sender may do next. `same_key`: send the same request with the same key again, later. `new_key`: the
  // request never ran under this key; use a fresh key. `never`: sending it again does not help; somebody has to act
  // first. The text that goes with the problem says so in a sentence.
  enum class Retry : std::uint8_t { never, same_key, new_key };

  ProblemType type = ProblemType::store_unavailable;

  // The HTTP status. It is usually that of the table, and may be changed: outcome_unknown has two.
  std::uint16_t status = 503;

  // The advice. For outcome_unknown it depends on the policy: `never` with hold, otherwise `same_key`.
  Retry retry = Retry::same_key;

  // The problem for `type`, with its usual status and advice.
  static Problem of(ProblemType type);

  // A short name that never changes, such as "key-reused". Programs should compare this and not the texts below. After
  // the prefix "urn:semel:problem:" (reply.problem_base in conf/semel.toml) it is the problem's `type`.
  [[nodiscard]] std::string_view slug() const;

  // One line that says what the problem is, the same for every problem of this type.
  [[nodiscard]] std::string_view title() const;

  // Some sentences: what happened, whether the request ran, and what to do. Depends on `type` and `retry`, and for
  // outcome_unknown on `status`: the caller whose own attempt was cut off is told of this attempt.
  [[nodiscard]] std::string_view detail() const;

  // The advice as it is sent to clients: "never", "same-key" or "new-key".
  static std::string_view name(Retry retry);
};

}  // namespace semel
