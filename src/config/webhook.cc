// [[webhook]]: its keys, and the rules that come from its provider.
#include "webhook/webhook.h"

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

#include "config/config.h"
#include "config/sections.h"
#include "core/ascii.h"
#include "policy/expression.h"
#include "policy/keep.h"
#include "policy/pattern.h"
#include "policy/spelling.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/nearest.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include "webhook/authenticate.h"
#include "webhook/provider.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>

namespace semel::config {
namespace {

constexpr std::array in_flight_choices{reading::Choice<Policy::InFlight>{"conflict", Policy::InFlight::conflict},
                                       reading::Choice<Policy::InFlight>{"wait", Policy::InFlight::wait}};

void read_provider_name(reading::TableReader& table, std::string& into) {
  if (table.require("provider") == nullptr) {
    table.record("provider", "", "");
    return;
  }
  const auto parse = [](std::string_view text) -> reading::Parsed<std::string> {
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || core::is_digit(c) || c == '-' || c == '_'; };
    if (text.empty() || text.size() > 64 || !std::ranges::all_of(text, plain)) {
      return reading::fault("the name of a provider is lower-case letters, digits, - and _", core::to_lower(text));
    }
    return std::string(text);
  };
  reading::read_parsed(table, "provider", into, parse, [](const std::string& text) { return text; });
}

struct ProviderText {
  std::string file;
  std::string text;
};

// The user's own file comes before the one that is compiled in.
std::optional<ProviderText> find_provider(reading::TableReader& table, const std::string& folder,
                                          const std::string& name) {
  if (!folder.empty()) {
    std::string file = folder + "/" + name + ".toml";
    auto text = table.reading().resolver->file(file);
    if (text) return ProviderText{.file = std::move(file), .text = *std::move(text)};
  }
  const auto files = webhook::builtin_providers();
  const auto found = std::ranges::find(files, name, &webhook::ProviderFile::name);
  if (found != files.end()) return ProviderText{.file = name + ".toml", .text = std::string(found->text)};
  std::vector<std::string_view> names;
  for (const webhook::ProviderFile& file : files) names.push_back(file.name);
  const std::string where = folder.empty() ? std::string{} : fmt::format(", and no {}/{}.toml", folder, name);
  table.reject("provider", table.at("provider"), fmt::format("there is no provider \"{}\"{}", name, where),
               reading::nearest(name, names).value_or(std::string_view{}));
  return std::nullopt;
}

void load_provider(reading::TableReader& table, const std::string& folder, webhook::Webhook& webhook) {
  if (webhook.provider.empty() || !table.good("provider")) return;
  const auto found = find_provider(table, folder, webhook.provider);
  if (!found) return;
  auto loaded = webhook::parse_provider(found->text, webhook.provider, found->file);
  table.reading().report.include(loaded ? loaded->warnings : loaded.error());
  if (!loaded) {
    table.reject("provider", table.at("provider"), fmt::format("the provider's file {} has errors", found->file));
    return;
  }
  webhook.rules = std::move(loaded->provider);
  webhook.target.policy.ttl = webhook.rules.ttl;
}

bool signs_nothing(const webhook::Provider& provider) {
  return std::ranges::any_of(provider.schemes, [](const webhook::SignatureScheme& scheme) {
    return scheme.algorithm == webhook::Algorithm::none;
  });
}

void check_secrets(reading::TableReader& table, const webhook::Webhook& webhook) {
  if (signs_nothing(webhook.rules)) {
    table.warn("provider", fmt::format("{} signs nothing: anybody can send events here", webhook.provider));
    return;
  }
  if (!table.has("secrets")) {
    table.reject("secrets", table.at("secrets"), "webhook needs `secrets`: without one, anybody can send events");
  } else if (webhook.secrets.empty() && table.good("secrets")) {
    table.reject("secrets", table.at("secrets"), "secrets is empty, so every delivery would be refused");
  }
  for (std::size_t i = 0; i < webhook.secrets.size() && !webhook.lock.keys.empty(); ++i) {
    const bool usable = std::ranges::any_of(webhook.lock.keys, [&](const auto& keys) { return keys[i].has_value(); });
    if (usable) continue;
    table.reject("secrets", table.at("secrets"),
                 fmt::format("number {} of secrets does not have the form of a key of {}", i + 1, webhook.provider));
  }
}

// Rules that depend on the provider.
void check_rules(reading::TableReader& table, const webhook::Webhook& webhook) {
  const webhook::Provider& rules = webhook.rules;
  const bool covers_url = std::ranges::any_of(rules.schemes, [](const webhook::SignatureScheme& scheme) {
    return scheme.signed_text.has(policy::PartKind::url);
  });
  if (covers_url && webhook.lock.public_url.empty()) {
    table.reject("provider", table.at("provider"),
                 fmt::format("{} signs the address that it calls: set public_url in [server]", webhook.provider));
  }
  const bool asks_for_token = std::ranges::any_of(
      rules.handshakes, [](const webhook::Handshake& handshake) { return handshake.verify.has_value(); });
  if (asks_for_token && webhook.verify_token.empty() && table.good("verify_token")) {
    table.warn("provider",
               fmt::format("{} sends a token in its handshake, which fails without `verify_token`", webhook.provider));
  }
  if (webhook.ordered && !rules.event.order) {
    const std::string_view key = table.has("order") ? "order" : "ordered";
    table.reject(key, table.at(key), fmt::format("{} does not tell the order of its events", webhook.provider));
  }
  if (webhook.tolerance && std::ranges::none_of(rules.schemes, webhook::has_time)) {
    table.reject("tolerance", table.at("tolerance"),
                 fmt::format("{} signs no time, so a tolerance would do nothing", webhook.provider));
  }
  const bool has_api =
      std::ranges::any_of(rules.schemes, [](const webhook::SignatureScheme& scheme) { return !scheme.api.empty(); });
  if (!webhook.api_credentials.empty() && !has_api) {
    table.warn("api_credentials",
               fmt::format("api_credentials has no effect: {} has no API that could be asked", webhook.provider));
  } else if (!webhook.api_credentials.empty() && !webhook.api_key) {
    table.reject("api_credentials", table.at("api_credentials"), "api_credentials are CLIENT_ID|SECRET");
  }
  const bool subscribes = std::ranges::any_of(rules.schemes, [](const webhook::SignatureScheme& scheme) {
    return scheme.algorithm == webhook::Algorithm::aws_sns;
  });
  if (webhook.confirm_subscriptions && !subscribes) {
    table.reject("confirm_subscriptions", table.at("confirm_subscriptions"),
                 fmt::format("{} asks for no confirmation; AWS SNS does", webhook.provider));
  }
  if (table.good("ttl") && webhook.target.policy.ttl < rules.horizon) {
    table.warn("ttl", fmt::format("ttl is {}, but {} repeats an event for {}: a late one would be delivered again",
                                  reading::duration_text(webhook.target.policy.ttl), webhook.provider,
                                  reading::duration_text(rules.horizon)));
  }
  for (const webhook::SignatureScheme& scheme : rules.schemes) {
    const Millis life = webhook::longest_life(scheme, webhook.tolerance);
    if (!table.good("ttl") || !rules.event.deduplicate || webhook.target.policy.ttl >= life) continue;
    table.warn("ttl",
               fmt::format("ttl is {}, but a signature may count for {}: who captures a delivery could send it again",
                           reading::duration_text(webhook.target.policy.ttl), reading::duration_text(life)));
    break;
  }
  const auto unstable = webhook.event_key ? webhook::unstable_part(*webhook.event_key, rules.schemes) : std::nullopt;
  if (unstable) {
    table.warn("key_from", fmt::format("{} changes with each attempt, so every retry would look new", *unstable));
  }
}

void check_webhook(reading::TableReader& table, const webhook::Webhook& webhook) {
  check_terms(table, webhook.target.policy);
  check_secrets(table, webhook);
  if (table.good("provider")) check_rules(table, webhook);
  const bool probes = webhook.target.policy.on_unknown == Policy::OnUnknown::probe;
  if (probes && webhook.delivery == webhook::Delivery::forward) {
    table.reject("on_unknown", table.at("on_unknown"),
                 "only a webhook with delivery = \"inbox\" can be probed; use \"retry\" or \"hold\"", "retry");
  } else if (probes && table.has("deliver")) {
    table.reject("on_unknown", table.at("on_unknown"),
                 "with deliver, each [destination.NAME] says what follows an unknown outcome", "retry");
  }
  if (webhook.target.policy.on_unknown == Policy::OnUnknown::hold && table.good("on_unknown")) {
    table.warn("on_unknown", "on_unknown = \"hold\": an event whose delivery was cut off waits for an operator");
  }
}

}  // namespace

void read_webhook(reading::Reading& reading, const reading::Node& node, Config& config) {
  reading::TableReader table(reading, &node, "webhook");
  webhook::Webhook webhook;
  webhook.target.store_body_max = config.limits.store_body_max;
  webhook.target.keep = policy::keep_successes();
  webhook.target.policy = {.ttl = 7 * reading::one_day, .on_unknown = Policy::OnUnknown::retry};
  read_path(table, webhook.path);
  read_provider_name(table, webhook.provider);
  load_provider(table, config.server.providers, webhook);
  reading::read_secrets(table, "secrets", webhook.secrets);
  reading::read_secret(table, "verify_token", webhook.verify_token);
  reading::read_secret(table, "api_credentials", webhook.api_credentials);
  webhook.api_key = webhook::make_secret_key(webhook.api_credentials, webhook::KeyForm::id_raw);
  reading::read_choice(table, "delivery", webhook.delivery, delivery_choices);
  const bool sent_elsewhere = webhook.delivery == webhook::Delivery::inbox && table.has("deliver");
  if (table.has("upstream") || !sent_elsewhere) read_upstream_name(table, config, webhook.target.upstream);
  reading::read_optional(
      table, "key_from", webhook.event_key,
      [](std::string_view text) { return policy::parse_expression(text, policy::ExpressionUse::event); },
      [](const policy::Expression& expression) { return expression.text; });
  reading::read_flag(table, "ordered", webhook.ordered);
  reading::read_flag(table, "confirm_subscriptions", webhook.confirm_subscriptions);
  reading::read_optional(table, "rate_limit", webhook.rate_limit, reading::parse_rate, reading::rate_text);
  reading::read_optional(table, "rate_limit_per_ip", webhook.rate_limit_per_ip, reading::parse_rate,
                         reading::rate_text);
  reading::read_optional(table, "tolerance", webhook.tolerance, reading::parse_duration, reading::duration_text);
  reading::read_duration(table, "ttl", webhook.target.policy.ttl,
                         {.min = reading::one_second, .max = 3650 * reading::one_day});
  reading::read_duration(table, "lease", webhook.target.policy.lease, {.min = Millis{100}, .max = reading::one_day});
  reading::read_choice(table, "in_flight", webhook.target.policy.in_flight, in_flight_choices);
  reading::read_duration(table, "wait_max", webhook.target.policy.wait_max,
                         {.min = Millis{1}, .max = Millis{3'600'000}});
  reading::read_choice(table, "on_unknown", webhook.target.policy.on_unknown, on_unknown_choices);
  fit_defaults(table, webhook.target.policy);
  // Routes cannot have a colon in their namespace, so no webhook shares one with them.
  read_intake(table, webhook, config);
  webhook.plain_path = policy::plainest(webhook.path);
  webhook.space = "webhook:" + webhook.path.text;
  if (webhook.space.size() > space_bytes_max) {
    table.reject("path", table.at("path"), "the path of a webhook is at most 56 bytes long: it is its namespace");
  }
  webhook.lock = webhook::make_lock(webhook.rules, webhook.secrets, config.server.public_url, webhook.tolerance);
  check_webhook(table, webhook);
  table.finish();
  config.webhooks.push_back(std::move(webhook));
}

}  // namespace semel::config
