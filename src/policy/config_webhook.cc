// [[webhook]]: read and checked in shape; what the provider needs is known to its own file.
#include <algorithm>
#include <array>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "policy/ascii.h"
#include "policy/config.h"
#include "policy/config_sections.h"
#include "policy/document.h"
#include "policy/expression.h"
#include "policy/fault.h"
#include "policy/read_values.h"
#include "policy/table_reader.h"
#include "policy/units.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>

namespace semel {
namespace {

constexpr std::array delivery_choices{Choice<Delivery>{"forward", Delivery::forward},
                                      Choice<Delivery>{"inbox", Delivery::inbox}};

// A value that has no default of its own: "" leaves it to somebody else.
template <class T, class Parse, class Write>
void read_optional(TableReader& table, std::string_view key, std::optional<T>& into, Parse parse, Write write) {
  const auto parse_some = [&](std::string_view text) -> Parsed<std::optional<T>> {
    if (text.empty()) return std::nullopt;
    auto parsed = parse(text);
    if (!parsed) return std::unexpected(std::move(parsed).error());
    return std::move(*parsed);
  };
  read_parsed(table, key, into, parse_some,
              [&](const std::optional<T>& value) { return value ? write(*value) : std::string{}; });
}

void read_provider(TableReader& table, std::string& into) {
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

void check_webhook(TableReader& table, const Webhook& webhook) {
  check_terms(table, webhook.policy);
  if (!table.has("secrets")) {
    table.reject("secrets", table.at("secrets"), "webhook needs `secrets`: without one, anybody can send events");
  } else if (webhook.secrets.empty() && table.good("secrets")) {
    table.warn("secrets", "secrets is empty: unless the provider signs with a public key, events are not verified");
  }
  if (webhook.policy.on_unknown == OnUnknown::probe) {
    table.reject("on_unknown", table.at("on_unknown"), "a webhook cannot be probed; use \"retry\" or \"hold\"",
                 "retry");
  }
  if (webhook.policy.on_unknown == OnUnknown::hold && table.good("on_unknown")) {
    table.warn("on_unknown", "on_unknown = \"hold\": an event whose delivery was cut off waits for an operator");
  }
  if (table.good("ttl") && webhook.policy.ttl < one_day) {
    table.warn("ttl", "ttl is under 24h, and many providers retry for longer; a late retry would be delivered again");
  }
}

}  // namespace

void read_webhook(Reading& reading, const Node& node, Config& config) {
  TableReader table(reading, &node, "webhook");
  Webhook webhook;
  read_path(table, webhook.path);
  read_provider(table, webhook.provider);
  read_secrets(table, "secrets", webhook.secrets);
  read_upstream_name(table, config, webhook.upstream);
  read_optional(
      table, "key_from", webhook.key_from, [](std::string_view text) { return parse_expression(text); },
      [](const Expression& expression) { return expression.text; });
  read_choice(table, "delivery", webhook.delivery, delivery_choices);
  read_flag(table, "ordered", webhook.ordered);
  read_optional(table, "rate_limit", webhook.rate_limit, parse_rate, rate_text);
  read_optional(table, "tolerance", webhook.tolerance, parse_duration, duration_text);
  read_duration(table, "ttl", webhook.policy.ttl, {.min = one_second, .max = 3650 * one_day});
  read_duration(table, "lease", webhook.policy.lease, {.min = Millis{100}, .max = one_day});
  read_choice(table, "on_unknown", webhook.policy.on_unknown, on_unknown_choices);
  // Routes cannot have a colon in their namespace, so no webhook shares one with them.
  webhook.space = "webhook:" + webhook.path.text;
  if (webhook.space.size() > space_bytes_max) {
    table.reject("path", table.at("path"), "the path of a webhook is at most 56 bytes long: it is its namespace");
  }
  check_webhook(table, webhook);
  table.finish();
  config.webhooks.push_back(std::move(webhook));
}

}  // namespace semel
