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
  misdirected,
};

struct Problem {
  // What the caller may do next.
  enum class Retry : std::uint8_t { never, same_key, new_key };

  ProblemType type = ProblemType::store_unavailable;
  std::uint16_t status = 503;
  Retry retry = Retry::same_key;

  // The row of the contract for `type`, with its usual status and advice.
  static Problem of(ProblemType type);

  [[nodiscard]] std::string_view slug() const;    // "key-reused": what follows urn:semel:problem:
  [[nodiscard]] std::string_view title() const;   // one line
  [[nodiscard]] std::string_view detail() const;  // what happened, and whether to retry with the same key
  static std::string_view name(Retry retry);      // "same-key"
};

}  // namespace semel
