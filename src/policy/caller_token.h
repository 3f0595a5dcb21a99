// Who a caller is, by the token that its request shows: [jwt] of the configuration.
//
// The claims of a token count only when everything about it is right: an algorithm that the configuration lists, a
// signature by a key of that kind, issuer, audience and time. The shared secret verifies only the algorithms of
// secrets, the set of public keys only those of public keys, so a public key can never be taken for a secret. Nothing
// is fetched here: judge_caller() says when it needs the set of keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/expression.h"
#include "policy/request_view.h"
#include "reading/secret.h"
#include <semel/clock.h>

namespace semel::policy {

struct TokenRules {
  Expression from = expression("{header:Authorization}");  // one header or cookie
  std::vector<std::string> algorithms;                     // never empty
  std::string keys_url;                                    // of the set of keys; empty if it is in `keys`
  std::string keys;                                        // the set itself
  reading::Secret secret;                                  // empty if no algorithm needs one
  std::string issuer;                                      // empty: any
  std::vector<std::string> audience;                       // empty: any
  Millis leeway{30'000};
};

enum class TokenFault : std::uint8_t {
  malformed,
  algorithm,  // not one of the configuration's
  signature,
  expired,
  early,
  no_expiry,
  issuer,
  audience,
};

// "the token has expired"
std::string_view words(TokenFault fault);

struct NoToken {};
struct TokenClaims {
  std::string json;
};
// The set of keys is needed. `refresh`: the one at hand does not have the key that the token names.
struct KeysWanted {
  bool refresh = false;
};
using JudgedCaller = std::variant<TokenClaims, NoToken, TokenFault, KeysWanted>;

// `fetched`: the document at `keys_url`, if it is there.
JudgedCaller judge_caller(const TokenRules& rules, const RequestView& request, Time now,
                          std::optional<std::string_view> fetched);

// Whether a set has a key for one of the algorithms.
bool has_key_for(std::string_view document, const std::vector<std::string>& algorithms);

// Whether the algorithm is one of a shared secret; null if it is not known at all.
std::optional<bool> is_of_secrets(std::string_view algorithm);

}  // namespace semel::policy
