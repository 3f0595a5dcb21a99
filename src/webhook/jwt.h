// JSON web tokens (RFC 7519) in the compact form, signed with RS256 or ES256 by a key of a JSON web key set.
//
// A token is taken apart, and only what the caller asks for is verified. `alg` only decides which of the two is tried,
// and a key is used only for its own kind.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel::webhook {

struct Token {
  std::string key_id;     // `kid`
  std::string algorithm;  // `alg`: "RS256" or "ES256"
  std::string claims;     // JSON
  std::string signed_part;
  std::string signature;
};

// Null if it is not a token of this kind.
std::optional<Token> read_token(std::string_view text);

// The key called `key_id` of a set (`{"keys": [...]}`) or the one of `{"key": {...}}`, as JSON. Null if there is none.
std::optional<std::string> find_key(std::string_view document, std::string_view key_id);

bool is_signed_by(const Token& token, std::string_view key);

// A claim that is a string, a number or a truth value. Null if it is missing.
std::optional<std::string> claim(const Token& token, std::string_view name);

}  // namespace semel::webhook
