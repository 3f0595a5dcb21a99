// [api] and its [[api.token]].
#include <algorithm>
#include <array>
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"
#include "config/sections.h"
#include "core/ascii.h"
#include "core/sha256.h"
#include "reading/address.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/read_values.h"
#include "reading/secret.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/store.h>

namespace semel::config {
namespace {

constexpr std::size_t secret_bytes_min = 16;

reading::Parsed<void> check_namespace(const std::string& text) {
  const std::string_view plain = std::string_view(text).substr(0, text.find('*'));
  if (text.empty()) return reading::fault("an empty namespace names nothing; \"*\" is all of them");
  if (plain.size() + 1 < text.size()) return reading::fault("`*` may stand at the end only, as in \"jobs.*\"");
  if (text.size() > space_bytes_max) return reading::fault("a namespace has at most 64 bytes");
  if (std::ranges::any_of(text, core::is_control)) return reading::fault("holds control characters");
  return {};
}

void read_may(reading::TableReader& table, ApiRights& into) {
  std::vector<std::string> words{"claim", "end", "get"};
  ApiRights rights{.claim = false, .end = false, .get = false};
  bool any = false;
  reading::read_list(table, "may", words, [&](const std::string& word) -> reading::Parsed<void> {
    constexpr std::array<std::string_view, 3> known{"claim", "end", "get"};
    any = true;
    if (word == "claim")
      rights.claim = true;
    else if (word == "end")
      rights.end = true;
    else if (word == "get")
      rights.get = true;
    else
      return std::unexpected(reading::no_such_choice(word, known));
    return {};
  });
  if (table.has("may") && any) into = rights;
  if (table.has("may") && !any && table.good("may")) {
    table.reject("may", table.at("may"), "may is empty, so the token could do nothing");
  }
}

void read_token(reading::Reading& reading, const reading::Node& node, ApiConfig& api) {
  reading::TableReader table(reading, &node, "api.token");
  ApiToken token;
  table.require("name");
  reading::read_text(table, "name", token.name);
  if (table.has("name") && token.name.empty() && table.good("name")) {
    table.reject("name", table.at("name"), "name is empty; logs and metrics show it");
  }
  reading::Secret secret;
  table.require("secret");
  reading::read_secret(table, "secret", secret);
  if (!secret.empty() && secret.reveal().size() < secret_bytes_min) {
    table.reject("secret", table.at("secret"), "secret is shorter than 16 bytes; `openssl rand -hex 32` makes one");
  }
  token.secret_sha256 = core::sha256(secret.reveal());
  table.require("namespaces");
  reading::read_list(table, "namespaces", token.namespaces, check_namespace);
  if (token.namespaces.empty() && table.has("namespaces") && table.good("namespaces")) {
    table.reject("namespaces", table.at("namespaces"), "namespaces is empty, so the token could do nothing");
  }
  read_may(table, token.may);
  const auto same = [](const std::string& text) { return text; };
  reading::read_optional(
      table, "scope", token.scope,
      [](std::string_view text) -> reading::Parsed<std::string> { return std::string(text); }, same);
  reading::read_duration(table, "lease_max", token.lease_max, {.min = Millis{1'000}, .max = span_max});
  reading::read_duration(table, "ttl_max", token.ttl_max, {.min = Millis{1'000}, .max = span_max});
  reading::read_optional(table, "rate", token.rate, reading::parse_rate, reading::rate_text);
  const auto same_name = [&](const ApiToken& other) { return other.name == token.name; };
  if (table.good("name") && std::ranges::any_of(api.tokens, same_name)) {
    table.reject("name", table.at("name"), fmt::format("there are two tokens \"{}\"", token.name));
  }
  const auto same_secret = [&](const ApiToken& other) { return other.secret_sha256 == token.secret_sha256; };
  if (!secret.empty() && std::ranges::any_of(api.tokens, same_secret)) {
    table.reject("secret", table.at("secret"), "another token has the same secret");
  }
  table.finish();
  api.tokens.push_back(std::move(token));
}

}  // namespace

void read_api(reading::Reading& reading, const reading::Node* node, ApiConfig& api) {
  reading::TableReader table(reading, node, "api");
  reading::read_optional(table, "listen", api.listen, reading::parse_endpoint, reading::endpoint_text);
  read_tls(table, "api.tls", api.tls);
  for (const reading::Node* token : tables_of(reading, table.find("token"), "api.token")) {
    read_token(reading, *token, api);
  }
  if (api.listen && api.tokens.empty() && table.good("listen") && !reading.report.has_errors()) {
    table.reject("listen", table.at("listen"), "api.listen has no [[api.token]], so nobody could call it");
  }
  if (!api.listen && !api.tokens.empty() && table.good("listen")) {
    table.warn("token", "[[api.token]] has no effect without api.listen");
  }
  table.finish();
}

}  // namespace semel::config
