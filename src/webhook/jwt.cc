#include "webhook/jwt.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/encoding.h"
#include "core/public_key.h"
#include "policy/json_scalar.h"
#include "webhook/json_items.h"

namespace semel::webhook {
namespace {

constexpr std::size_t token_bytes_max = 16'384;
constexpr std::size_t keys_max = 1'000;

std::optional<std::string> text_at(std::string_view document, const std::vector<std::string>& pointer) {
  auto value = policy::json_scalar(document, pointer);
  return value ? std::optional(*std::move(value)) : std::nullopt;
}

std::optional<std::string> bytes_at(std::string_view document, const std::vector<std::string>& pointer) {
  const auto text = text_at(document, pointer);
  return text ? core::from_base64(*text, core::Base64::url) : std::nullopt;
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
  if (policy::json_scalar(*head, critical) || json_items(*head, critical, 0)) return std::nullopt;
  auto algorithm = text_at(*head, {"alg"});
  auto key_id = text_at(*head, {"kid"});
  if (!algorithm || !key_id || (*algorithm != "RS256" && *algorithm != "ES256")) return std::nullopt;
  return Token{.key_id = *std::move(key_id),
               .algorithm = *std::move(algorithm),
               .claims = *std::move(claims),
               .signed_part = std::string(text.substr(0, last)),
               .signature = *std::move(signature)};
}

std::optional<std::string> find_key(std::string_view document, std::string_view key_id) {
  const std::vector<std::string> keys{"keys"};
  const auto set = json_items(document, keys, keys_max);
  if (set) {
    for (const std::string_view key : *set) {
      if (text_at(key, {"kid"}) == key_id) return std::string(key);
    }
    return std::nullopt;
  }
  const auto one = json_member(document, "key");
  if (!one || text_at(*one, {"kid"}) != key_id) return std::nullopt;
  return std::string(*one);
}

bool is_signed_by(const Token& token, std::string_view key) {
  const auto kind = text_at(key, {"kty"});
  if (token.algorithm == "RS256" && kind == "RSA") {
    const auto modulus = bytes_at(key, {"n"});
    const auto exponent = bytes_at(key, {"e"});
    return modulus && exponent && core::verify_rs256(*modulus, *exponent, token.signed_part, token.signature);
  }
  if (token.algorithm == "ES256" && kind == "EC" && text_at(key, {"crv"}) == "P-256") {
    const auto x = bytes_at(key, {"x"});
    const auto y = bytes_at(key, {"y"});
    return x && y && core::verify_es256(*x, *y, token.signed_part, token.signature);
  }
  return false;
}

std::optional<std::string> claim(const Token& token, std::string_view name) {
  return text_at(token.claims, {std::string(name)});
}

}  // namespace semel::webhook
