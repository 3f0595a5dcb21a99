// [[route]]: its keys one by one. The rules between them are in config_route_rules.cc.
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

#include "policy/ascii.h"
#include "policy/config.h"
#include "policy/config_sections.h"
#include "policy/document.h"
#include "policy/expression.h"
#include "policy/fault.h"
#include "policy/fields.h"
#include "policy/keep.h"
#include "policy/pattern.h"
#include "policy/read_values.h"
#include "policy/table_reader.h"
#include <semel/fingerprint.h>
#include <semel/http_request.h>
#include <semel/key.h>
#include <semel/once.h>

namespace semel {
namespace {

constexpr std::array key_choices{Choice<KeyMode>{"required", KeyMode::required},
                                 Choice<KeyMode>{"optional", KeyMode::optional}, Choice<KeyMode>{"off", KeyMode::off}};
constexpr std::array form_choices{Choice<BodyForm>{"json", BodyForm::json}, Choice<BodyForm>{"raw", BodyForm::raw}};
constexpr std::array in_flight_choices{Choice<Policy::InFlight>{"conflict", Policy::InFlight::conflict},
                                       Choice<Policy::InFlight>{"wait", Policy::InFlight::wait}};
constexpr std::array mode_choices{Choice<Mode>{"enforce", Mode::enforce}, Choice<Mode>{"observe", Mode::observe}};
constexpr std::array store_down_choices{Choice<OnStoreDown>{"refuse", OnStoreDown::refuse},
                                        Choice<OnStoreDown>{"forward", OnStoreDown::forward}};
constexpr std::array verdict_choices{Choice<Verdict>{"store", Verdict::keep},
                                     Choice<Verdict>{"release", Verdict::release},
                                     Choice<Verdict>{"unknown", Verdict::unknown}};

constexpr std::array<std::string_view, 4> guardable{"POST", "PATCH", "PUT", "DELETE"};
constexpr std::array<std::string_view, 4> safe_methods{"GET", "HEAD", "OPTIONS", "TRACE"};

Parsed<void> check_method(const std::string& method) {
  if (std::ranges::find(guardable, method) != guardable.end()) return {};
  if (std::ranges::find(safe_methods, method) != safe_methods.end()) {
    return fault(fmt::format("{} has no effect to repeat, so it is not guarded; it passes through", method));
  }
  return std::unexpected(no_such_choice(method, guardable));
}

Parsed<void> check_pointer(const std::string& pointer) {
  if (const auto list = IgnoreList::parse({pointer})) return {};
  const bool no_slash = !pointer.empty() && !pointer.starts_with('/');
  return fault(fmt::format("\"{}\" is not a JSON pointer (RFC 6901) to a member", pointer),
               no_slash ? fmt::format("/{}", pointer) : std::string{});
}

Parsed<void> check_replay_field(const std::string& name) {
  if (!is_field_name(name)) return fault(fmt::format("\"{}\" is not the name of a field", name));
  if (is_hop_by_hop(name) || is_framing(name)) {
    return fault(fmt::format("{} belongs to one connection and cannot be replayed", name));
  }
  if (!is_personal(name)) return fault(fmt::format("{} is replayed anyway; leave it out", name));
  return {};
}

Parsed<std::string> parse_space(std::string_view text) {
  const auto plain = [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.'; };
  if (text.empty() || text.size() > space_bytes_max || !std::ranges::all_of(text, plain)) {
    return fault("must be 1 to 64 letters, digits, dots, - and _");
  }
  return std::string(text);
}

std::string expression_text(const Expression& expression) {
  return expression.text;
}

void read_ignore(TableReader& table, IgnoreList& into) {
  std::vector<std::string> pointers;
  read_list(table, "ignore", pointers, check_pointer);
  if (auto list = IgnoreList::parse(pointers)) into = std::move(*list);
}

void read_methods(TableReader& table, std::vector<std::string>& into) {
  read_list(table, "methods", into, check_method);
  if (into.empty() && table.good("methods")) {
    table.reject("methods", table.at("methods"), "methods is empty; to guard nothing write key = \"off\"");
  }
}

void read_keep(TableReader& table, KeepRules& into) {
  const Node* const value = table.find("keep");
  std::vector<std::string> rules;
  if (value != nullptr && table.expect("keep", *value, NodeKind::table)) {
    for (const Node& rule : value->children) {
      if (!table.expect("keep", rule, NodeKind::string)) continue;
      const auto verdict = parse_choice<Verdict>(rule.text, verdict_choices);
      if (!verdict) {
        table.reject("keep", rule, verdict.error());
        continue;
      }
      const auto set = into.set(rule.name, *verdict);
      if (!set)
        table.reject("keep", rule.name_at, fmt::format("keep: {}", set.error().message), set.error().suggestion);
      rules.push_back(fmt::format("{} = {}", toml_string(rule.name), toml_string(rule.text)));
    }
  }
  table.record("keep", "{}", fmt::format("{{{}}}", fmt::join(rules, ", ")));
}

void read_probe(TableReader& table, std::optional<Expression>& into) {
  const auto parse = [](std::string_view text) -> Parsed<std::optional<Expression>> {
    if (text.empty()) return std::nullopt;
    auto parsed = parse_expression(text, ExpressionUse::target);
    if (!parsed) return std::unexpected(std::move(parsed).error());
    return std::move(*parsed);
  };
  read_parsed(table, "probe", into, parse,
              [](const std::optional<Expression>& probe) { return probe ? probe->text : std::string{}; });
}

}  // namespace

void read_path(TableReader& table, Pattern& into) {
  if (table.require("path") == nullptr) {
    table.record("path", "", "");
    return;
  }
  read_parsed(table, "path", into, parse_pattern, [](const Pattern& pattern) { return pattern.text; });
}

void check_terms(TableReader& table, const Policy& policy) {
  if (table.good("lease") && table.good("ttl") && policy.lease > policy.ttl) {
    table.reject("lease", table.at("lease"), "lease is longer than ttl: the key would expire while its request runs");
  }
}

void read_route(Reading& reading, const Node& node, Config& config) {
  TableReader table(reading, &node, "route");
  const auto parse_identity = [](std::string_view text) { return parse_expression(text); };
  Route route;
  route.store_body_max = config.limits.store_body_max;
  read_path(table, route.path);
  read_methods(table, route.methods);
  read_upstream_name(table, config, route.upstream);
  read_choice(table, "key", route.key, key_choices);
  read_parsed(table, "key_from", route.key_from, parse_identity, expression_text);
  read_parsed(table, "scope", route.scope, parse_identity, expression_text);
  read_parsed(table, "namespace", route.space, parse_space, [](const std::string& text) { return text; });
  read_choice(table, "fingerprint", route.fingerprint, form_choices);
  read_ignore(table, route.ignore);
  read_duration(table, "ttl", route.policy.ttl, {.min = one_second, .max = 3650 * one_day});
  read_duration(table, "lease", route.policy.lease, {.min = Millis{100}, .max = one_day});
  read_choice(table, "in_flight", route.policy.in_flight, in_flight_choices);
  read_duration(table, "wait_max", route.policy.wait_max, {.min = Millis{1}, .max = Millis{3'600'000}});
  read_choice(table, "on_unknown", route.policy.on_unknown, on_unknown_choices);
  read_probe(table, route.probe);
  read_keep(table, route.keep);
  read_list(table, "replay_fields", route.replay_fields, check_replay_field);
  read_bytes(table, "store_body_max", route.store_body_max, {.min = 0, .max = one_gib});
  read_choice(table, "on_store_down", route.on_store_down, store_down_choices);
  read_choice(table, "mode", route.mode, mode_choices);
  check_route(table, route);
  table.finish();
  config.routes.push_back(std::move(route));
}

}  // namespace semel
