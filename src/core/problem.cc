// The table of refusals: one row per problem type, in the words that the sender reads.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include <semel/problem.h>

namespace semel {
namespace {

struct Wording {
  ProblemType type;
  std::uint16_t status;
  Problem::Retry retry;
  std::string_view slug;
  std::string_view title;
  std::string_view detail;
};

using enum ProblemType;

// In the order of ProblemType: row() relies on it, and checks it.
constexpr std::array rows{
    Wording{
        key_missing, 400, Problem::Retry::new_key, "key-missing", "Idempotency key missing",
        "This endpoint needs an idempotency key and the request has none; it did not run. Send it again with a fresh "
        "key, for example Idempotency-Key: \"8e03978e-40d5-43dd-bc93-6894a57f9324\", and reuse that key for every "
        "retry "
        "of the same operation."},
    Wording{key_invalid, 400, Problem::Retry::new_key, "key-invalid", "Idempotency key malformed",
            "The idempotency key cannot be read; the request did not run. Send one key of 1 to 255 printable ASCII "
            "characters, quoted or bare, on one line and without parameters."},
    Wording{
        scope_missing, 401, Problem::Retry::never, "scope-missing", "Caller not identified",
        "Keys belong to a caller, and the part of the request that identifies the caller is missing; the request did "
        "not run. Authenticate, then send it again."},
    Wording{signature_invalid, 401, Problem::Retry::never, "signature-invalid", "Signature not valid",
            "The signature is missing, wrong or too old; the request did not run and nothing was stored."},
    Wording{
        in_flight, 409, Problem::Retry::same_key, "in-flight", "Request with this key still running",
        "An earlier request with this key is still running. Wait as Retry-After says, then send the same request with "
        "the same key to get its answer."},
    Wording{
        outcome_unknown, 409, Problem::Retry::never, "outcome-unknown", "Outcome of this key unknown",
        "An earlier attempt with this key was cut off after it may have taken effect. It will not run again by itself: "
        "find out what happened before you act, and do not send it under a new key until you know."},
    Wording{body_too_large, 413, Problem::Retry::never, "body-too-large", "Body too large",
            "The body is over the limit for requests that carry an idempotency key; the request did not run."},
    Wording{
        key_reused, 422, Problem::Retry::new_key, "key-reused", "Idempotency key reused with another request",
        "This key belongs to a different request (method, target or body differ); this one did not run. Use a fresh "
        "key "
        "for a new operation; to repeat the earlier one, send it unchanged."},
    Wording{
        rate_limited, 429, Problem::Retry::same_key, "rate-limited", "Too many requests",
        "Too many requests in a short time; this one did not run. Wait as Retry-After says, then send it again with "
        "the "
        "same key."},
    Wording{
        quota_exceeded, 429, Problem::Retry::same_key, "quota-exceeded", "Quota of keys used up",
        "This caller holds as many live keys as it may; the request did not run. Send it again with the same key when "
        "older keys have expired."},
    Wording{
        upstream_unreachable, 502, Problem::Retry::same_key, "upstream-unreachable", "Service not reached",
        "The service behind this gateway could not be reached. Nothing was sent to it; send the request again with the "
        "same key."},
    Wording{
        store_unavailable, 503, Problem::Retry::same_key, "store-unavailable", "Keys cannot be recorded at the moment",
        "The store that remembers keys is not available, so the request did not run. Wait as Retry-After says, then "
        "send it again with the same key."},
    Wording{
        record_corrupt, 500, Problem::Retry::never, "record-corrupt", "Stored answer damaged",
        "What is stored under this key cannot be trusted, so it is neither replayed nor run again. The operator has to "
        "look at it."},
    Wording{no_route, 404, Problem::Retry::never, "no-route", "No such path",
            "No route of this gateway names this path."},
    Wording{
        misdirected, 421, Problem::Retry::never, "misdirected", "Not a name of this gateway",
        "The request is for a host that this gateway does not answer for; it did not run. Look at the Host field, or "
        "at the host of the target."},
};

const Wording& row(ProblemType type) {
  const auto at = static_cast<std::size_t>(type);
  core::check(at < rows.size() && rows.at(at).type == type, "every problem type has its row, in order");
  return rows.at(at);
}

}  // namespace

std::string_view Problem::slug() const {
  return row(type).slug;
}
std::string_view Problem::title() const {
  return row(type).title;
}

std::string_view Problem::detail() const {
  if (type != outcome_unknown) return row(type).detail;
  const bool own_attempt = status != row(type).status;
  if (retry == Retry::same_key) {
    return own_attempt ? "This attempt was cut off after it may have taken effect. Wait as Retry-After says, then send "
                         "the same request with the same key: it will be settled then."
                       : "An attempt with this key was cut off after it may have taken effect. Wait as Retry-After "
                         "says, then send the same request with the same key: it will be settled then.";
  }
  if (own_attempt) {
    return "This attempt was cut off after it may have taken effect. It will not run again by itself: find out what "
           "happened before you act, and do not send it under a new key until you know.";
  }
  return row(type).detail;
}

std::string_view Problem::name(Retry retry) {
  switch (retry) {
    case Retry::never:
      return "never";
    case Retry::same_key:
      return "same-key";
    case Retry::new_key:
      return "new-key";
  }
  core::check(false, "every retry advice has a name");
  return {};
}

Problem Problem::of(ProblemType type) {
  return {.type = type, .status = row(type).status, .retry = row(type).retry};
}

}  // namespace semel
