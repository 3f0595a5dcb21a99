// One row per provider, made from the same data that the gateway uses.
#include "webhook/provider_table.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.h"
#include "policy/expression.h"
#include "reading/units.h"
#include "webhook/provider.h"
#include <semel/clock.h>

namespace semel::webhook {
namespace {

std::vector<Provider> all() {
  std::vector<Provider> providers;
  for (const ProviderFile& file : builtin_providers()) {
    auto loaded = parse_provider(file.text, file.name, file.name);
    core::check(loaded.has_value(), "what is compiled in can be read");
    providers.push_back(std::move(loaded->provider));
  }
  return providers;
}

std::string horizon_text(const Provider& provider) {
  return provider.horizon == Millis{0} ? "-" : reading::duration_text(provider.horizon);
}

std::string key_text(const Provider& provider) {
  if (!provider.event.deduplicate) return "none: every delivery is handed on";
  std::vector<std::string_view> ids;
  ids.reserve(provider.event.id.size());
  for (const policy::Expression& id : provider.event.id) ids.push_back(id.text);
  return fmt::format("{}", fmt::join(ids, ", or "));
}

std::string order_text(const Provider& provider) {
  const std::optional<policy::Expression>& order = provider.event.order;
  const std::optional<policy::Expression>& object = provider.event.object;
  return order && object ? object->text + " by " + order->text : "-";
}

bool id_is_signed(const Provider& provider) {
  return std::ranges::all_of(provider.schemes, &SignatureScheme::signs_id);
}

std::string_view algorithm_text(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::hmac_sha1:
      return "HMAC-SHA1";
    case Algorithm::hmac_sha256:
      return "HMAC-SHA256";
    case Algorithm::hmac_sha512:
      return "HMAC-SHA512";
    case Algorithm::ed25519:
      return "Ed25519";
    case Algorithm::ecdsa_p256_sha256:
      return "ECDSA P-256";
    case Algorithm::token:
      return "the secret itself";
    case Algorithm::none:
      return "nothing";
    case Algorithm::paypal:
    case Algorithm::aws_sns:
      return "RSA, by a certificate";
    case Algorithm::jwt:
    case Algorithm::plaid:
      return "JWT";
  }
  return {};
}

std::string signature_text(const Provider& provider) {
  std::vector<std::string> ways;
  for (const SignatureScheme& scheme : provider.schemes) {
    std::string way(algorithm_text(scheme.algorithm));
    if (!scheme.from.text.empty()) way += fmt::format(" in `{}`", scheme.from.text);
    if (scheme.tolerance > Millis{0}) way += fmt::format(", ±{}", reading::duration_text(scheme.tolerance));
    if (std::ranges::find(ways, way) == ways.end()) ways.push_back(std::move(way));
  }
  return fmt::format("{}", fmt::join(ways, "; or "));
}

}  // namespace

std::string provider_list() {
  std::string out = fmt::format("{:<18} {:>8} {:>5}  {:<7} {}\n", "provider", "retries", "ttl", "ordered", "key");
  for (const Provider& provider : all()) {
    out += fmt::format("{:<18} {:>8} {:>5}  {:<7} {}\n", provider.name, horizon_text(provider),
                       reading::duration_text(provider.ttl), provider.event.order ? "yes" : "-", key_text(provider));
  }
  return out;
}

std::string provider_markdown() {
  std::string out =
      "# Webhook providers\n\n"
      "Made by `semel providers list --markdown` from the files in `providers/`; `semel providers show NAME` prints "
      "one "
      "of them, with\nwhat is not documented about the provider. How the files are written is in "
      "[webhooks.md](webhooks.md).\n\n"
      "*retries*: how long the provider repeats an event by itself (`-`: not at all, or not documented). *ttl*: how "
      "long "
      "an "
      "event is\nremembered unless the webhook says otherwise. Where the id is not signed, the body is compared with "
      "the "
      "first one that came\nunder it.\n\n"
      "| provider | signed with | key of an event | id signed | order | retries | ttl |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Provider& provider : all()) {
    out += fmt::format("| `{}` {} | {} | {} | {} | {} | {} | {} |\n", provider.name, provider.title,
                       signature_text(provider), key_text(provider), id_is_signed(provider) ? "yes" : "no",
                       order_text(provider), horizon_text(provider), reading::duration_text(provider.ttl));
  }
  return out;
}

}  // namespace semel::webhook
