// Form and algorithm first, then the signature, then what the claims say: an unsigned claim is never looked at.
#include "policy/caller_token.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ascii.h"
#include "policy/expression.h"
#include "policy/json_items.h"
#include "policy/json_scalar.h"
#include "policy/jwt.h"
#include "policy/part_value.h"
#include "policy/request_view.h"
#include <semel/clock.h>

namespace semel::policy {
namespace {

constexpr std::string_view bearer = "bearer ";
constexpr std::size_t nameless_tries_max = 4;  // keys that are tried for a token that names none
constexpr std::size_t audiences_max = 20;
constexpr std::size_t digits_max = 12;  // of seconds: the year 33658

// Null if there is none; empty if it cannot be read, which no token is.
std::optional<std::string> token_text(const TokenRules& rules, const RequestView& request) {
  Part part = rules.from.parts.front();
  part.optional = true;
  const auto read = value_of(part, request);
  if (!read) return std::string();
  const PartValue& value = *read;
  if (!value) return std::nullopt;
  std::string_view text = *value;
  if (core::equal_ignoring_case(text.substr(0, bearer.size()), bearer)) text.remove_prefix(bearer.size());
  return std::string(core::trimmed(text));
}

enum class Verified : std::uint8_t { yes, no, other_keys };

Verified verified_by(const Token& token, std::string_view document) {
  if (!token.key_id.empty()) {
    const auto key = find_web_key(document, token.key_id);
    if (!key) return Verified::other_keys;
    return is_signed_by(token, *key) ? Verified::yes : Verified::no;
  }
  std::size_t tries = 0;
  for (const std::string_view key : web_keys(document).value_or(std::vector<std::string_view>())) {
    if (!fits(key, token.algorithm)) continue;
    if (is_signed_by(token, key)) return Verified::yes;
    if (++tries == nameless_tries_max) break;
  }
  return Verified::no;
}

// A NumericDate (RFC 7519 §2). Fractions of a second are cut off.
std::optional<Time> moment(const std::string& text) {
  const std::string_view whole = std::string_view(text).substr(0, text.find('.'));
  const std::string_view fraction = std::string_view(text).substr(std::min(text.size(), whole.size() + 1));
  if (whole.empty() || whole.size() > digits_max || !std::ranges::all_of(whole, core::is_digit)) return std::nullopt;
  if (!std::ranges::all_of(fraction, core::is_digit)) return std::nullopt;
  std::int64_t seconds = 0;
  for (const char c : whole) seconds = seconds * 10 + (c - '0');
  return Time(std::chrono::seconds(seconds));
}

bool has_audience(const Token& token, const std::vector<std::string>& ours) {
  const auto listed = [&](const std::string& one) { return std::ranges::find(ours, one) != ours.end(); };
  if (const auto one = claim_of(token, "aud")) return listed(*one);
  const std::vector<std::string> pointer{"aud"};
  const auto several = json_items(token.claims, pointer, audiences_max);
  if (!several || several->size() > audiences_max) return false;
  for (std::size_t i = 0; i < several->size(); ++i) {
    const std::vector<std::string> element{"aud", std::to_string(i)};
    const auto text = json_scalar(token.claims, element);
    if (text && listed(*text)) return true;
  }
  return false;
}

std::optional<TokenFault> fault_of(const Token& token, const TokenRules& rules, Time now) {
  if (!is_json(std::string_view(token.claims))) return TokenFault::malformed;
  const auto expires = claim_of(token, "exp");
  if (!expires) return TokenFault::no_expiry;
  const auto until = moment(*expires);
  if (!until) return TokenFault::malformed;
  if (now >= *until + rules.leeway) return TokenFault::expired;
  if (has_odd_claim(token, "nbf")) return TokenFault::malformed;
  if (const auto begins = claim_of(token, "nbf")) {
    const auto from = moment(*begins);
    if (!from) return TokenFault::malformed;
    if (now + rules.leeway < *from) return TokenFault::early;
  }
  if (!rules.issuer.empty() && claim_of(token, "iss") != rules.issuer) return TokenFault::issuer;
  if (!rules.audience.empty() && !has_audience(token, rules.audience)) return TokenFault::audience;
  return std::nullopt;
}

}  // namespace

std::string_view words(TokenFault fault) {
  switch (fault) {
    case TokenFault::malformed:
      return "the token cannot be read";
    case TokenFault::algorithm:
      return "the token is signed with an algorithm that is not accepted here";
    case TokenFault::signature:
      return "the signature of the token is wrong";
    case TokenFault::expired:
      return "the token has expired";
    case TokenFault::early:
      return "the token is not valid yet";
    case TokenFault::no_expiry:
      return "the token does not say when it expires";
    case TokenFault::issuer:
      return "the token comes from another issuer";
    case TokenFault::audience:
      return "the token is for another audience";
  }
  return "";
}

std::optional<bool> is_of_secrets(std::string_view algorithm) {
  constexpr std::array<std::string_view, 2> of_secrets{"HS256", "HS512"};
  constexpr std::array<std::string_view, 3> of_keys{"RS256", "ES256", "EdDSA"};
  if (std::ranges::find(of_secrets, algorithm) != of_secrets.end()) return true;
  if (std::ranges::find(of_keys, algorithm) != of_keys.end()) return false;
  return std::nullopt;
}

bool has_key_for(std::string_view document, const std::vector<std::string>& algorithms) {
  const auto keys = web_keys(document);
  return keys && std::ranges::any_of(*keys, [&](std::string_view key) {
           return std::ranges::any_of(algorithms, [&](const std::string& algorithm) { return fits(key, algorithm); });
         });
}

JudgedCaller judge_caller(const TokenRules& rules, const RequestView& request, Time now,
                          std::optional<std::string_view> fetched) {
  const auto text = token_text(rules, request);
  if (!text) return NoToken{};
  auto token = read_token(*text);
  if (!token) return TokenFault::malformed;
  if (std::ranges::find(rules.algorithms, token->algorithm) == rules.algorithms.end()) return TokenFault::algorithm;
  if (is_of_secrets(token->algorithm) == true) {
    if (rules.secret.empty() || !is_signed_with(*token, rules.secret.reveal())) return TokenFault::signature;
  } else {
    if (!rules.keys_url.empty() && !fetched) return KeysWanted{};
    const Verified verified = verified_by(*token, fetched.value_or(rules.keys));
    if (verified == Verified::other_keys && !rules.keys_url.empty()) return KeysWanted{.refresh = true};
    if (verified != Verified::yes) return TokenFault::signature;
  }
  if (const auto fault = fault_of(*token, rules, now)) return *fault;
  return TokenClaims{.json = std::move(token->claims)};
}

}  // namespace semel::policy
