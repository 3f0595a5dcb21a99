// JSON web tokens (RFC 7519) in the compact form, signed by a key of a JSON web key set or with a shared secret.
//
// A token is taken apart, and only what the caller asks for is verified. Which algorithms count is the caller's to say,
// never the token's: `alg` only decides which of them is tried, and a key is used only for its own kind.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace semel::policy {

struct Token {
  std::string key_id;     // `kid`; empty if there is none
  std::string algorithm;  // `alg`, whatever it says
  std::string claims;     // JSON
  std::string signed_part;
  std::string signature;
};

// Null if it is not a token of this form, or one that says that more of it must be understood (`crit`).
std::optional<Token> read_token(std::string_view text);

// The key called `key_id` of a set (`{"keys": [...]}`) or the one of `{"key": {...}}`, as JSON. Null if there is none.
std::optional<std::string> find_web_key(std::string_view document, std::string_view key_id);

// All keys of a set, as JSON. Null if it is not a set.
std::optional<std::vector<std::string_view>> web_keys(std::string_view document);

// Whether a key is of the kind that the algorithm needs: RS256, ES256 or EdDSA (Ed25519).
bool fits(std::string_view key, std::string_view algorithm);

bool is_signed_by(const Token& token, std::string_view key);
// HS256 or HS512.
bool is_signed_with(const Token& token, std::string_view secret);

// Whether there is such a claim that two programs could read differently, or that is no plain value.
bool has_odd_claim(const Token& token, std::string_view name);

// A claim that is a string, a number or a truth value. Null if it is missing.
std::optional<std::string> claim_of(const Token& token, std::string_view name);

}  // namespace semel::policy
