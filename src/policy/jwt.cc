// Taken apart strictly; whatever two programs could read differently is no token.
#include "policy/jwt.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/crypto.h"
#include "core/encoding.h"
#include "core/public_key.h"
#include "policy/json_items.h"
#include "policy/json_scalar.h"

namespace semel::policy {
namespace {

constexpr std::size_t token_bytes_max = 16'384;
constexpr std::size_t keys_max = 1'000;

std::optional<std::string> text_at(std::string_view document, const std::vector<std::string>& pointer) {
  auto value = json_scalar(document, pointer);
  return value ? std::optional(*std::move(value)) : std::nullopt;
}

std::optional<std::string> bytes_at(std::string_view document, const std::vector<std::string>& pointer) {
  const auto text = text_at(document, pointer);
  return text ? core::from_base64(*text, core::Base64::url) : std::nullopt;
}

// Whether something is there that is no plain value: it must not pass for nothing.
bool is_odd(std::string_view document, std::string_view name) {
  const std::vector<std::string> pointer{std::string(name)};
  const JsonPresence kind = json_presence(document, pointer);
  return kind != JsonPresence::absent && kind != JsonPresence::scalar;
}

}  // namespace

std::optional<Token> read_token(std::string_view text) {
  if (text.size() > token_bytes_max) return std::nullopt;
  const std::size_t first = text.find('.');
  const std::size_t last = text.rfind('.');
  if (first == std::string_view::npos || first == last || text.find('.', first + 1) != last) return std::nullopt;
  const auto head = core::from_base64(text.substr(0, first), core::Base64::url);
  auto claims = core::from_base64(text.substr(first + 1, last - first - 1), core::Base64::url);
  auto signature = core::from_base64(text.substr(last + 1), core::Base64::url);
  if (!head || !claims || !signature) return std::nullopt;
  // What must be understood (RFC 7515, 4.1.11): we understand none of it.
  const std::vector<std::string> critical{"crit"};
  if (json_presence(*head, critical) != JsonPresence::absent) return std::nullopt;
  auto algorithm = text_at(*head, {"alg"});
  if (!algorithm || is_odd(*head, "kid")) return std::nullopt;
  return Token{.key_id = text_at(*head, {"kid"}).value_or(""),
               .algorithm = *std::move(algorithm),
               .claims = *std::move(claims),
               .signed_part = std::string(text.substr(0, last)),
               .signature = *std::move(signature)};
}

std::optional<std::vector<std::string_view>> web_keys(std::string_view document) {
  const std::vector<std::string> keys{"keys"};
  auto set = json_items(document, keys, keys_max);
  if (!set) return std::nullopt;
  return *std::move(set);
}

std::optional<std::string> find_web_key(std::string_view document, std::string_view key_id) {
  if (const auto set = web_keys(document)) {
    for (const std::string_view key : *set) {
      if (text_at(key, {"kid"}) == key_id) return std::string(key);
    }
    return std::nullopt;
  }
  const auto one = json_member(document, "key");
  if (!one || text_at(*one, {"kid"}) != key_id) return std::nullopt;
  return std::string(*one);
}

bool fits(std::string_view key, std::string_view algorithm) {
  if (text_at(key, {"alg"}).value_or(std::string(algorithm)) != algorithm) return false;
  if (text_at(key, {"use"}).value_or("sig") != "sig") return false;
  const auto kind = text_at(key, {"kty"});
  if (algorithm == "RS256") return kind == "RSA";
  if (algorithm == "ES256") return kind == "EC" && text_at(key, {"crv"}) == "P-256";
  return algorithm == "EdDSA" && kind == "OKP" && text_at(key, {"crv"}) == "Ed25519";
}

bool is_signed_by(const Token& token, std::string_view key) {
  if (!fits(key, token.algorithm)) return false;
  if (token.algorithm == "RS256") {
    const auto modulus = bytes_at(key, {"n"});
    const auto exponent = bytes_at(key, {"e"});
    return modulus && exponent && core::verify_rs256(*modulus, *exponent, token.signed_part, token.signature);
  }
  const auto x = bytes_at(key, {"x"});
  if (!x) return false;
  if (token.algorithm == "EdDSA") return core::verify_ed25519(*x, token.signed_part, token.signature);
  const auto y = bytes_at(key, {"y"});
  return y && core::verify_es256(*x, *y, token.signed_part, token.signature);
}

bool is_signed_with(const Token& token, std::string_view secret) {
  if (token.algorithm != "HS256" && token.algorithm != "HS512") return false;
  const core::HmacHash hash = token.algorithm == "HS256" ? core::HmacHash::sha256 : core::HmacHash::sha512;
  return core::equal_in_constant_time(core::hmac(hash, secret, token.signed_part), token.signature);
}

bool has_odd_claim(const Token& token, std::string_view name) {
  return is_odd(token.claims, name);
}

std::optional<std::string> claim_of(const Token& token, std::string_view name) {
  return text_at(token.claims, {std::string(name)});
}

}  // namespace semel::policy
