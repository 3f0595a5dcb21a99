// Why a request was refused, in words for the one who sent it.
//
// One row per line of the contract in docs/guarantees.md; rendered as RFC 9457 application/problem+json.
#pragma once

#include <cstdint>
#include <string_view>

namespace semel {

enum class ProblemType : std::uint8_t {
  key_missing,
  key_invalid,
  scope_missing,
  signature_invalid,
  in_flight,
  outcome_unknown,
  body_too_large,
  key_reused,
  rate_limited,
  quota_exceeded,
  upstream_unreachable,
  store_unavailable,
  record_corrupt,
  no_route,
};

// What the caller may do next.
enum class Retry : std::uint8_t { never, same_key, new_key };

struct Problem {
  ProblemType type = ProblemType::store_unavailable;
  std::uint16_t status = 503;
  Retry retry = Retry::same_key;
};

std::string_view slug(ProblemType type);          // "key-reused": what follows urn:semel:problem:
std::string_view title(ProblemType type);         // one line
std::string_view detail(const Problem& problem);  // what happened, and whether to retry with the same key
std::string_view name(Retry retry);               // "same-key"

// The row of the contract for `type`, with its usual status and advice.
Problem problem(ProblemType type);

}  // namespace semel
