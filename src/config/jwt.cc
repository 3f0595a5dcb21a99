// [jwt]
#include <algorithm>
#include <array>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/sections.h"
#include "policy/caller_token.h"
#include "policy/expression.h"
#include "reading/address.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/read_values.h"
#include "reading/resolver.h"
#include "reading/table_reader.h"
#include <semel/clock.h>

namespace semel::config {
namespace {

constexpr std::array<std::string_view, 5> algorithms{"RS256", "ES256", "EdDSA", "HS256", "HS512"};
constexpr std::size_t secret_bytes_min = 32;  // RFC 7518 §3.2, for HS256
constexpr Millis leeway_max{300'000};

reading::Parsed<void> check_algorithm(const std::string& name) {
  if (std::ranges::find(algorithms, name) != algorithms.end()) return {};
  if (name == "none") return reading::fault("none signs nothing, so anybody could be anybody");
  return std::unexpected(reading::no_such_choice(name, algorithms));
}

reading::Parsed<void> check_text(const std::string& text) {
  if (text.empty()) return reading::fault("is empty");
  return {};
}

reading::Parsed<policy::Expression> parse_from(std::string_view text) {
  auto parsed = policy::parse_expression(text);
  if (!parsed) return parsed;
  const bool single = parsed->is_single(policy::PartKind::header) || parsed->is_single(policy::PartKind::cookie);
  if (!single) return reading::fault("must be one header or one cookie", "{header:Authorization}");
  return parsed;
}

bool is_address(std::string_view keys) {
  return keys.starts_with("https://") || keys.starts_with("http://");
}

// The set of keys: an address that the gateway fetches it from, or a file that is read now.
void read_keys(reading::TableReader& table, policy::TokenRules& rules) {
  std::string keys;
  reading::read_text(table, "keys", keys);
  if (keys.empty() || !table.good("keys")) return;
  if (is_address(keys)) {
    const auto url = reading::parse_url(keys);
    if (!url) {
      table.reject("keys", table.at("keys"), fmt::format("keys: {}", url.error().message));
    } else if (!url->secure && !reading::is_loopback(url->authority)) {
      table.reject("keys", table.at("keys"),
                   "keys: over http:// anybody on the way could put in keys of his own; use https://");
    } else if (url->path.empty()) {
      table.reject("keys", table.at("keys"), "keys: the address of a set of keys has a path", keys + "/");
    } else {
      rules.keys_url = keys;
    }
    return;
  }
  const reading::Resolver& resolver = *table.reading().resolver;
  auto document = resolver.file(keys);
  if (!document) {
    if (resolver.may_lack_secrets()) {
      table.pass_over("keys");
      return;
    }
    table.reject("keys", table.at("keys"), fmt::format("keys: cannot read \"{}\": {}", keys, document.error().detail));
    return;
  }
  rules.keys = *std::move(document);
  if (table.good("algorithms") && !policy::has_key_for(rules.keys, rules.algorithms)) {
    table.reject("keys", table.at("keys"),
                 fmt::format("keys: \"{}\" is not a JSON web key set with a key for `algorithms`", keys));
  }
}

// Every algorithm has what verifies it, and nothing is there for no algorithm.
void check_sources(reading::TableReader& table, const policy::TokenRules& rules) {
  if (!table.has("algorithms") || !table.good("algorithms")) return;
  if (rules.algorithms.empty()) {
    table.reject("algorithms", table.at("algorithms"), "algorithms is empty, so every token would be refused");
    return;
  }
  const auto of_secrets = [](const std::string& name) { return policy::is_of_secrets(name) == true; };
  const bool secret = std::ranges::any_of(rules.algorithms, of_secrets);
  const bool keys = !std::ranges::all_of(rules.algorithms, of_secrets);
  if (secret && !table.has("secret")) {
    table.reject("secret", table.at("algorithms"), "HS256 and HS512 are verified with a shared `secret`");
  }
  if (keys && !table.has("keys")) {
    table.reject("keys", table.at("algorithms"),
                 "RS256, ES256 and EdDSA are verified by `keys`, a set of public keys: its address or a file");
  }
  if (!secret && table.has("secret")) {
    table.reject("secret", table.at("secret"), "secret verifies HS256 and HS512, which `algorithms` does not list");
  }
  if (!keys && table.has("keys")) {
    table.reject("keys", table.at("keys"), "keys verify RS256, ES256 and EdDSA, which `algorithms` does not list");
  }
  if (table.has("secret") && table.good("secret") && rules.secret.reveal().size() < secret_bytes_min) {
    table.reject("secret", table.at("secret"), "secret is shorter than 32 bytes, so it could be found by trying");
  }
}

}  // namespace

void read_jwt(reading::Reading& reading, const reading::Node* node, std::optional<policy::TokenRules>& jwt) {
  reading::TableReader table(reading, node, "jwt");
  policy::TokenRules rules;
  reading::read_parsed(table, "from", rules.from, parse_from,
                       [](const policy::Expression& expression) { return expression.text; });
  table.require("algorithms");
  reading::read_list(table, "algorithms", rules.algorithms, check_algorithm);
  read_keys(table, rules);
  reading::read_secret(table, "secret", rules.secret);
  reading::read_text(table, "issuer", rules.issuer);
  reading::read_list(table, "audience", rules.audience, check_text);
  reading::read_duration(table, "leeway", rules.leeway, {.min = Millis{0}, .max = leeway_max});
  if (node != nullptr) {
    check_sources(table, rules);
    if (rules.issuer.empty() && table.has("keys")) {
      table.warn("issuer", "jwt has no `issuer`: whoever else signs with these keys says who the caller is");
    }
    if (rules.audience.empty() && table.has("keys")) {
      table.warn("audience", "jwt has no `audience`: tokens that were made for another service count here");
    }
    jwt = std::move(rules);
  }
  table.finish();
}

}  // namespace semel::config
