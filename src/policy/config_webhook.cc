// [[webhook]]: what the file says, and what the provider that it names makes of that.
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

#include "policy/ascii.h"
#include "policy/authenticate.h"
#include "policy/config.h"
#include "policy/config_sections.h"
#include "policy/document.h"
#include "policy/expression.h"
#include "policy/fault.h"
#include "policy/keep.h"
#include "policy/nearest.h"
#include "policy/pattern.h"
#include "policy/provider.h"
#include "policy/read_values.h"
#include "policy/table_reader.h"
#include "policy/units.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>

namespace semel {
namespace {

constexpr std::array in_flight_choices{Choice<Policy::InFlight>{"conflict", Policy::InFlight::conflict},
                                       Choice<Policy::InFlight>{"wait", Policy::InFlight::wait}};
constexpr std::array delivery_choices{Choice<Delivery>{"forward", Delivery::forward},
                                      Choice<Delivery>{"inbox", Delivery::inbox}};

void read_provider_name(TableReader& table, std::string& into) {
  if (table.require("provider") == nullptr) {
    table.record("provider", "", "");
    return;
  }
  const auto parse = [](std::string_view text) -> Parsed<std::string> {
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_'; };
    if (text.empty() || text.size() > 64 || !std::ranges::all_of(text, plain)) {
      return fault("the name of a provider is lower-case letters, digits, - and _", to_lower(text));
    }
    return std::string(text);
  };
  read_parsed(table, "provider", into, parse, [](const std::string& text) { return text; });
}

struct ProviderText {
  std::string file;
  std::string text;
};

// The user's own file comes before the one that is compiled in.
std::optional<ProviderText> find_provider(TableReader& table, const std::string& folder, const std::string& name) {
  if (!folder.empty()) {
    std::string file = folder + "/" + name + ".toml";
    auto text = table.reading().resolver->file(file);
    if (text) return ProviderText{.file = std::move(file), .text = *std::move(text)};
  }
  const auto files = builtin_providers();
  const auto found = std::ranges::find(files, name, &ProviderFile::name);
  if (found != files.end()) return ProviderText{.file = name + ".toml", .text = std::string(found->text)};
  std::vector<std::string_view> names;
  for (const ProviderFile& file : files) names.push_back(file.name);
  const std::string where = folder.empty() ? std::string{} : fmt::format(", and no {}/{}.toml", folder, name);
  table.reject("provider", table.at("provider"), fmt::format("there is no provider \"{}\"{}", name, where),
               nearest(name, names).value_or(std::string_view{}));
  return std::nullopt;
}

void load_provider(TableReader& table, const std::string& folder, Webhook& webhook) {
  if (webhook.provider.empty() || !table.good("provider")) return;
  const auto found = find_provider(table, folder, webhook.provider);
  if (!found) return;
  auto loaded = parse_provider(found->text, webhook.provider, found->file);
  table.reading().report.include(loaded ? loaded->warnings : loaded.error());
  if (!loaded) {
    table.reject("provider", table.at("provider"), fmt::format("the provider's file {} has errors", found->file));
    return;
  }
  webhook.rules = std::move(loaded->provider);
  webhook.policy.ttl = webhook.rules.ttl;
}

bool signs_nothing(const Provider& provider) {
  return std::ranges::any_of(provider.schemes,
                             [](const SignatureScheme& scheme) { return scheme.algorithm == Algorithm::none; });
}

void check_secrets(TableReader& table, const Webhook& webhook) {
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
                 fmt::format("number {} of secrets is not written as the keys of {} are", i + 1, webhook.provider));
  }
}

// What holds only with the provider's rules in hand.
void check_rules(TableReader& table, const Webhook& webhook) {
  const Provider& rules = webhook.rules;
  const bool covers_url = std::ranges::any_of(
      rules.schemes, [](const SignatureScheme& scheme) { return scheme.signed_text.has(PartKind::url); });
  if (covers_url && webhook.lock.public_url.empty()) {
    table.reject("provider", table.at("provider"),
                 fmt::format("{} signs the address that it calls: set public_url in [server]", webhook.provider));
  }
  const bool asks_for_token =
      std::ranges::any_of(rules.handshakes, [](const Handshake& handshake) { return handshake.verify.has_value(); });
  if (asks_for_token && webhook.verify_token.empty() && table.good("verify_token")) {
    table.warn("provider",
               fmt::format("{} sends a token in its handshake, which fails without `verify_token`", webhook.provider));
  }
  if (webhook.ordered && !rules.event.order) {
    table.reject("ordered", table.at("ordered"),
                 fmt::format("{} says nothing of the order of its events", webhook.provider));
  }
  const bool subscribes = std::ranges::any_of(
      rules.schemes, [](const SignatureScheme& scheme) { return scheme.algorithm == Algorithm::aws_sns; });
  if (webhook.confirm_subscriptions && !subscribes) {
    table.reject("confirm_subscriptions", table.at("confirm_subscriptions"),
                 fmt::format("{} asks for no confirmation; AWS SNS does", webhook.provider));
  }
  if (table.good("ttl") && webhook.policy.ttl < rules.horizon) {
    table.warn("ttl", fmt::format("ttl is {}, but {} repeats an event for {}: a late one would be delivered again",
                                  duration_text(webhook.policy.ttl), webhook.provider, duration_text(rules.horizon)));
  }
  const auto unstable = webhook.event_key ? unstable_part(*webhook.event_key, rules.schemes) : std::nullopt;
  if (unstable) {
    table.warn("key_from",
               fmt::format("{} is another one for each attempt, so that every retry would look new", *unstable));
  }
}

void check_webhook(TableReader& table, const Webhook& webhook) {
  check_terms(table, webhook.policy);
  check_secrets(table, webhook);
  if (table.good("provider")) check_rules(table, webhook);
  if (webhook.policy.on_unknown == Policy::OnUnknown::probe) {
    table.reject("on_unknown", table.at("on_unknown"), "a webhook cannot be probed; use \"retry\" or \"hold\"",
                 "retry");
  }
  if (webhook.policy.on_unknown == Policy::OnUnknown::hold && table.good("on_unknown")) {
    table.warn("on_unknown", "on_unknown = \"hold\": an event whose delivery was cut off waits for an operator");
  }
}

}  // namespace

void read_webhook(Reading& reading, const Node& node, Config& config) {
  TableReader table(reading, &node, "webhook");
  Webhook webhook;
  webhook.store_body_max = config.limits.store_body_max;
  webhook.keep = keep_successes();
  webhook.policy = {.ttl = 7 * one_day, .on_unknown = Policy::OnUnknown::retry};
  read_path(table, webhook.path);
  read_provider_name(table, webhook.provider);
  load_provider(table, config.server.providers, webhook);
  read_secrets(table, "secrets", webhook.secrets);
  read_secret(table, "verify_token", webhook.verify_token);
  read_upstream_name(table, config, webhook.upstream);
  read_optional(
      table, "key_from", webhook.event_key,
      [](std::string_view text) { return parse_expression(text, ExpressionUse::event); },
      [](const Expression& expression) { return expression.text; });
  read_choice(table, "delivery", webhook.delivery, delivery_choices);
  read_flag(table, "ordered", webhook.ordered);
  read_flag(table, "confirm_subscriptions", webhook.confirm_subscriptions);
  read_optional(table, "rate_limit", webhook.rate_limit, parse_rate, rate_text);
  read_optional(table, "rate_limit_per_ip", webhook.rate_limit_per_ip, parse_rate, rate_text);
  read_optional(table, "tolerance", webhook.tolerance, parse_duration, duration_text);
  read_duration(table, "ttl", webhook.policy.ttl, {.min = one_second, .max = 3650 * one_day});
  read_duration(table, "lease", webhook.policy.lease, {.min = Millis{100}, .max = one_day});
  read_choice(table, "in_flight", webhook.policy.in_flight, in_flight_choices);
  read_duration(table, "wait_max", webhook.policy.wait_max, {.min = Millis{1}, .max = Millis{3'600'000}});
  read_choice(table, "on_unknown", webhook.policy.on_unknown, on_unknown_choices);
  // Routes cannot have a colon in their namespace, so no webhook shares one with them.
  webhook.plain_path = plainest(webhook.path);
  webhook.space = "webhook:" + webhook.path.text;
  if (webhook.space.size() > space_bytes_max) {
    table.reject("path", table.at("path"), "the path of a webhook is at most 56 bytes long: it is its namespace");
  }
  webhook.lock = make_lock(webhook.rules, webhook.secrets, config.server.public_url, webhook.tolerance);
  check_webhook(table, webhook);
  table.finish();
  config.webhooks.push_back(std::move(webhook));
}

}  // namespace semel
