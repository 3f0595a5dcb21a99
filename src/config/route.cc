// [[route]]: its keys one by one. The rules between them are in route_rules.cc.
#include "policy/route.h"

#include <algorithm>
#include <array>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/config.h"
#include "config/sections.h"
#include "core/ascii.h"
#include "policy/expression.h"
#include "policy/fields.h"
#include "policy/keep.h"
#include "policy/pattern.h"
#include "policy/spelling.h"
#include "policy/target.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include <semel/fingerprint.h>
#include <semel/http_request.h>
#include <semel/key.h>
#include <semel/once.h>

namespace semel::config {

reading::Parsed<void> check_pointer(const std::string& pointer) {
  if (const auto list = IgnoreList::parse({pointer})) return {};
  const bool no_slash = !pointer.empty() && !pointer.starts_with('/');
  return reading::fault(fmt::format("\"{}\" is not a JSON pointer (RFC 6901) to a member", pointer),
                        no_slash ? fmt::format("/{}", pointer) : std::string{});
}

namespace {

constexpr std::array key_choices{reading::Choice<KeyMode>{"required", KeyMode::required},
                                 reading::Choice<KeyMode>{"optional", KeyMode::optional},
                                 reading::Choice<KeyMode>{"off", KeyMode::off}};
constexpr std::array form_choices{reading::Choice<BodyForm>{"json", BodyForm::json},
                                  reading::Choice<BodyForm>{"raw", BodyForm::raw}};
constexpr std::array in_flight_choices{reading::Choice<Policy::InFlight>{"conflict", Policy::InFlight::conflict},
                                       reading::Choice<Policy::InFlight>{"wait", Policy::InFlight::wait}};
constexpr std::array mode_choices{reading::Choice<policy::Mode>{"enforce", policy::Mode::enforce},
                                  reading::Choice<policy::Mode>{"observe", policy::Mode::observe}};
constexpr std::array store_down_choices{reading::Choice<policy::OnStoreDown>{"refuse", policy::OnStoreDown::refuse},
                                        reading::Choice<policy::OnStoreDown>{"forward", policy::OnStoreDown::forward}};
constexpr std::array verdict_choices{reading::Choice<Verdict>{"store", Verdict::keep},
                                     reading::Choice<Verdict>{"release", Verdict::release},
                                     reading::Choice<Verdict>{"unknown", Verdict::unknown}};

constexpr std::array<std::string_view, 4> guardable{"POST", "PATCH", "PUT", "DELETE"};
constexpr std::array<std::string_view, 4> safe_methods{"GET", "HEAD", "OPTIONS", "TRACE"};

reading::Parsed<void> check_method(const std::string& method) {
  if (std::ranges::find(guardable, method) != guardable.end()) return {};
  if (std::ranges::find(safe_methods, method) != safe_methods.end()) {
    return reading::fault(fmt::format("{} has no effect to repeat, so it is not guarded; it passes through", method));
  }
  return std::unexpected(reading::no_such_choice(method, guardable));
}

reading::Parsed<void> check_replay_field(const std::string& name) {
  if (!policy::is_field_name(name)) return reading::fault(fmt::format("\"{}\" is not the name of a field", name));
  if (policy::is_hop_by_hop(name) || policy::is_framing(name)) {
    return reading::fault(fmt::format("{} belongs to one connection and cannot be replayed", name));
  }
  if (!policy::is_personal(name)) return reading::fault(fmt::format("{} is replayed anyway; leave it out", name));
  return {};
}

reading::Parsed<std::string> parse_space(std::string_view text) {
  const auto plain = [](char c) { return core::is_letter(c) || core::is_digit(c) || c == '-' || c == '_' || c == '.'; };
  if (text.empty() || text.size() > space_bytes_max || !std::ranges::all_of(text, plain)) {
    return reading::fault("must be 1 to 64 letters, digits, dots, - and _");
  }
  return std::string(text);
}

std::string expression_text(const policy::Expression& expression) {
  return expression.text;
}

void read_ignore(reading::TableReader& table, IgnoreList& into) {
  std::vector<std::string> pointers;
  reading::read_list(table, "ignore", pointers, check_pointer);
  if (auto list = IgnoreList::parse(pointers)) into = std::move(*list);
}

void read_methods(reading::TableReader& table, std::vector<std::string>& into) {
  reading::read_list(table, "methods", into, check_method);
  if (into.empty() && table.good("methods")) {
    table.reject("methods", table.at("methods"), "methods is empty; to guard nothing write key = \"off\"");
  }
}

void read_keep(reading::TableReader& table, policy::KeepRules& into) {
  const reading::Node* const value = table.find("keep");
  std::vector<std::string> rules;
  if (value != nullptr && table.expect("keep", *value, reading::NodeKind::table)) {
    for (const reading::Node& rule : value->children) {
      if (!table.expect("keep", rule, reading::NodeKind::string)) continue;
      const auto verdict = reading::parse_choice<Verdict>(rule.text, verdict_choices);
      if (!verdict) {
        table.reject("keep", rule, verdict.error());
        continue;
      }
      const auto set = into.set(rule.name, *verdict);
      if (!set)
        table.reject("keep", rule.name_at, fmt::format("keep: {}", set.error().message), set.error().suggestion);
      rules.push_back(fmt::format("{} = {}", reading::toml_string(rule.name), reading::toml_string(rule.text)));
    }
  }
  table.record("keep", "{}", fmt::format("{{{}}}", fmt::join(rules, ", ")));
}

void read_target(reading::TableReader& table, std::string_view key, std::optional<policy::Expression>& into) {
  const auto parse = [](std::string_view text) -> reading::Parsed<std::optional<policy::Expression>> {
    if (text.empty()) return std::nullopt;
    auto parsed = policy::parse_expression(text, policy::ExpressionUse::target);
    if (!parsed) return std::unexpected(std::move(parsed).error());
    return std::move(*parsed);
  };
  reading::read_parsed(table, key, into, parse, [](const std::optional<policy::Expression>& target) {
    return target ? target->text : std::string{};
  });
}

}  // namespace

void read_path(reading::TableReader& table, policy::Pattern& into) {
  if (table.require("path") == nullptr) {
    table.record("path", "", "");
    return;
  }
  reading::read_parsed(table, "path", into, policy::parse_pattern,
                       [](const policy::Pattern& pattern) { return pattern.text; });
}

void check_terms(reading::TableReader& table, const Policy& policy) {
  if (table.good("lease") && table.good("ttl") && policy.lease > policy.ttl) {
    table.reject("lease", table.at("lease"), "lease is longer than ttl: the key would expire while its request runs");
  }
}

void fit_defaults(const reading::TableReader& table, Policy& policy) {
  if (!table.has("lease")) policy.lease = std::min(policy.lease, policy.ttl);
  if (!table.has("wait_max")) policy.wait_max = std::min(policy.wait_max, policy.ttl);
}

void read_route(reading::Reading& reading, const reading::Node& node, Config& config) {
  reading::TableReader table(reading, &node, "route");
  const auto parse_identity = [](std::string_view text) { return policy::parse_expression(text); };
  policy::Route route;
  route.target.store_body_max = config.limits.store_body_max;
  read_path(table, route.path);
  read_methods(table, route.methods);
  read_upstream_name(table, config, route.target.upstream);
  reading::read_choice(table, "key", route.key, key_choices);
  reading::read_parsed(table, "key_from", route.key_from, parse_identity, expression_text);
  reading::read_parsed(table, "scope", route.scope, parse_identity, expression_text);
  reading::read_parsed(table, "namespace", route.space, parse_space, [](const std::string& text) { return text; });
  reading::read_choice(table, "fingerprint", route.fingerprint, form_choices);
  read_ignore(table, route.ignore);
  reading::read_duration(table, "ttl", route.target.policy.ttl,
                         {.min = reading::one_second, .max = 3650 * reading::one_day});
  reading::read_duration(table, "lease", route.target.policy.lease, {.min = Millis{100}, .max = reading::one_day});
  reading::read_choice(table, "in_flight", route.target.policy.in_flight, in_flight_choices);
  reading::read_duration(table, "wait_max", route.target.policy.wait_max, {.min = Millis{1}, .max = Millis{3'600'000}});
  reading::read_choice(table, "on_unknown", route.target.policy.on_unknown, on_unknown_choices);
  read_target(table, "probe", route.probe);
  read_target(table, "revalidate", route.revalidate);
  read_keep(table, route.target.keep);
  reading::read_list(table, "replay_fields", route.target.replay_fields, check_replay_field);
  reading::read_bytes(table, "store_body_max", route.target.store_body_max, {.min = 0, .max = reading::one_gib});
  reading::read_choice(table, "on_store_down", route.target.on_store_down, store_down_choices);
  reading::read_flag(table, "buffer", route.target.buffer);
  reading::read_choice(table, "mode", route.mode, mode_choices);
  fit_defaults(table, route.target.policy);
  route.plain_path = policy::plainest(route.path);
  check_route(table, route);
  read_route_intake(table, route, config);
  table.finish();
  config.routes.push_back(std::move(route));
}

}  // namespace semel::config
