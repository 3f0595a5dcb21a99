// [[resolver]]: what is asked about the unknown keys of a route, and when its silence is a proof.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"
#include "config/query_text.h"
#include "config/sections.h"
#include "core/ascii.h"
#include "policy/route.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/nearest.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include <semel/clock.h>
#include <semel/http_request.h>

namespace semel::config {
namespace {

constexpr std::array ask_choices{reading::Choice<ResolverAsk>{"sql", ResolverAsk::sql},
                                 reading::Choice<ResolverAsk>{"probe", ResolverAsk::probe}};
constexpr std::array decide_choices{reading::Choice<ResolverDecides>{"suggest", ResolverDecides::suggest},
                                    reading::Choice<ResolverDecides>{"apply", ResolverDecides::apply}};

// It may have several lines.
void read_query(reading::TableReader& table, std::string& into) {
  const auto parse = [](std::string_view text) -> reading::Parsed<std::string> {
    const auto bad = [](char c) { return core::is_control(c) && c != '\n' && c != '\r' && c != '\t'; };
    if (std::ranges::any_of(text, bad)) return reading::fault("holds control characters");
    return std::string(text);
  };
  reading::read_parsed(table, "query", into, parse, [](const std::string& text) { return text; });
}

// The route that is meant; null if there is none, which has been reported.
policy::Route* read_route_name(reading::TableReader& table, Config& config, std::size_t& into) {
  const reading::Node* const value = table.require("route");
  table.record("route", "", value == nullptr ? "" : reading::toml_string(value->text));
  if (value == nullptr || !table.expect("route", *value, reading::NodeKind::string)) return nullptr;
  std::vector<std::string_view> paths;
  paths.reserve(config.routes.size());
  for (const policy::Route& route : config.routes) paths.emplace_back(route.path.text);
  const auto at = std::ranges::find(paths, value->text);
  if (at == paths.end()) {
    table.reject("route", value->at, fmt::format("there is no [[route]] with the path \"{}\"", value->text),
                 reading::nearest(value->text, paths).value_or(std::string_view{}));
    return nullptr;
  }
  into = static_cast<std::size_t>(at - paths.begin());
  policy::Route& route = config.routes[into];
  if (route.resolved) {
    table.reject("route", value->at, fmt::format("\"{}\" has a resolver already", value->text));
    return nullptr;
  }
  return &route;
}

// A key that is never claimed is never unknown.
void check_guarded(reading::TableReader& table, const Config& config, const policy::Route& route, std::size_t at) {
  const bool through_inbox = at < config.route_intakes.size() && config.route_intakes[at].has_value();
  std::string_view why;
  if (route.key == KeyMode::off) why = "has key = \"off\"";
  if (route.mode == policy::Mode::observe) why = "only observes";
  if (through_inbox) why = "has an inbox, whose deliveries are settled there";
  if (!why.empty()) table.reject("route", table.at("route"), fmt::format("the route {}: nothing to resolve", why));
}

void check_certainty(reading::TableReader& table, const Config& config, const policy::Route& route,
                     const ResolverConfig& resolver) {
  if (!table.has("certain_after") || !table.good("certain_after")) return;
  if (route.target.upstream >= config.upstreams.size()) return;  // reported already
  const UpstreamConfig& upstream = config.upstreams[route.target.upstream];
  const Millis least = route.target.policy.lease + upstream.timeout;
  if (resolver.certain_after <= least) {
    table.reject(
        "certain_after", table.at("certain_after"),
        fmt::format("certain_after ({}) must be longer than the lease of the route ({}) and the timeout of "
                    "[upstream.{}] ({}) together: before that, a request may still take effect",
                    reading::duration_text(resolver.certain_after), reading::duration_text(route.target.policy.lease),
                    upstream.name, reading::duration_text(upstream.timeout)));
  }
  if (table.good("kept_for") && resolver.kept_for <= resolver.certain_after) {
    table.reject("kept_for", table.at("kept_for"), "kept_for must be longer than certain_after");
  }
  if (route.target.policy.ttl <= 2 * resolver.certain_after) {
    table.warn("certain_after", "certain_after is over half the ttl of the route: keys may expire before they settle");
  }
}

// The text of a key, and of a scope, must be something that a row can hold.
void check_query(reading::TableReader& table, const policy::Route& route, const ResolverConfig& resolver) {
  const reading::Node* const value = table.find("query");
  if (value == nullptr || !table.good("query")) return;
  const bool scoped = !route.scope.parts.empty();
  if (const std::optional<QueryFault> fault = fault_of_query(resolver.query, scoped)) {
    table.reject("query", table.reading().report.inside(*value, fault->offset), fault->message);
  }
  if (route.key_from.parts.size() > 1) {
    table.reject("query", table.at("route"),
                 "key_from of the route has several parts, of which only a hash is kept: "
                 "no table can be asked for it; use ask = \"probe\"");
  }
  if (route.scope.parts.size() > 1) {
    table.reject("query", table.at("route"),
                 "scope of the route has several parts, which no column can hold; use "
                 "ask = \"probe\"");
  }
}

void check_sql(reading::TableReader& table, const policy::Route* route, const ResolverConfig& resolver) {
  for (const std::string_view key : {"database", "query"}) {
    if (!table.has(key)) {
      table.reject(key, table.at("ask"), fmt::format("ask = \"sql\" needs `{}`", key));
    }
  }
  for (const std::string_view key : {"authorization", "concurrency"}) {
    if (table.has(key)) table.warn(key, fmt::format("{} has no effect unless ask = \"probe\"", key));
  }
  if (route != nullptr) check_query(table, *route, resolver);
}

void check_probe(reading::TableReader& table, const policy::Route* route) {
  for (const std::string_view key : {"database", "query"}) {
    if (table.has(key)) table.warn(key, fmt::format("{} has no effect unless ask = \"sql\"", key));
  }
  if (route != nullptr && !route->probe) {
    table.reject("ask", table.at("ask"), "ask = \"probe\" needs `probe` in the route, the target to ask");
  }
}

}  // namespace

void read_resolver(reading::Reading& reading, const reading::Node& node, Config& config) {
  reading::TableReader table(reading, &node, "resolver");
  ResolverConfig resolver;
  policy::Route* const route = read_route_name(table, config, resolver.route);
  table.require("ask");
  std::optional<ResolverAsk> ask;
  const auto parse_ask = [](std::string_view text) { return reading::parse_choice<ResolverAsk>(text, ask_choices); };
  reading::read_optional(table, "ask", ask, parse_ask,
                         [](ResolverAsk value) { return std::string(value == ResolverAsk::sql ? "sql" : "probe"); });
  resolver.ask = ask.value_or(ResolverAsk::sql);
  reading::read_secret(table, "database", resolver.database);
  read_query(table, resolver.query);
  resolver.query_at = {.at = table.at("query")};
  reading::read_secret(table, "authorization", resolver.authorization);
  table.require("certain_after");
  std::optional<Millis> certain_after;
  reading::read_optional(table, "certain_after", certain_after, reading::parse_duration, reading::duration_text);
  resolver.certain_after = certain_after.value_or(Millis{0});
  reading::read_choice(table, "decide", resolver.decide, decide_choices);
  reading::read_duration(table, "every", resolver.every, {.min = Millis{100}, .max = Millis{3'600'000}});
  reading::read_duration(table, "kept_for", resolver.kept_for,
                         {.min = reading::one_second, .max = 30 * reading::one_day});
  reading::read_duration(table, "timeout", resolver.timeout, {.min = Millis{100}, .max = Millis{60'000}});
  reading::read_count(table, "concurrency", resolver.concurrency, {.min = 1, .max = 1'000});
  if (table.has("ask") && table.good("ask")) {
    if (resolver.ask == ResolverAsk::sql) check_sql(table, route, resolver);
    if (resolver.ask == ResolverAsk::probe) check_probe(table, route);
  }
  if (route != nullptr) {
    check_guarded(table, config, *route, resolver.route);
    check_certainty(table, config, *route, resolver);
    route->resolved = true;
  }
  table.finish();
  config.resolvers.push_back(std::move(resolver));
}

}  // namespace semel::config
