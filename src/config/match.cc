// The rules in their order; then what a lenient server would make of a path that a route for many has taken.
#include "config/match.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "config/config.h"
#include "core/ascii.h"
#include "policy/pattern.h"
#include "policy/route.h"
#include "policy/spelling.h"
#include "webhook/webhook.h"
#include <semel/http_request.h>

namespace semel::config {
namespace {

bool guards(const policy::Route& route, std::string_view method) {
  return route.key != KeyMode::off && route.mode == policy::Mode::enforce && lists(route, method);
}

bool is_stricter(const policy::Route& other, const policy::Route& route, std::string_view method) {
  if (!guards(other, method)) return false;
  return !guards(route, method) || (other.key == KeyMode::required && route.key == KeyMode::optional);
}

// Whether the route's own path is one behind the webhook's: then what it takes was written down.
bool is_named_behind(const policy::Route& route, const webhook::Webhook& webhook) {
  const auto& named = route.plain_path.segments;
  const auto& path = webhook.plain_path.segments;
  return named.size() >= path.size() && std::ranges::equal(std::span(named).first(path.size()), path);
}

std::optional<LookAlike> look_alike(const Config& config, const policy::Route& route, std::string_view method,
                                    std::string_view path) {
  if (config.upstreams[route.target.upstream].paths == PathReading::exact) return std::nullopt;
  const auto stricter = [&](const policy::Route& other) { return is_stricter(other, route, method); };
  if (config.webhooks.empty() && std::ranges::none_of(config.routes, stricter)) return std::nullopt;
  const policy::Spelling spelling(path);
  for (const policy::Overlooked what : policy::all_overlooked) {
    const bool rest = what == policy::Overlooked::rest;
    for (const webhook::Webhook& webhook : config.webhooks) {
      if (rest && is_named_behind(route, webhook)) continue;
      if (spelling.reads_as(webhook.plain_path, what)) return LookAlike{.whose = "a webhook", .overlooked = what};
    }
    if (rest) break;  // below a route are other resources, as a rule
    const auto reads = [&](const policy::Route& other) { return spelling.reads_as(other.plain_path, what); };
    const auto first = std::ranges::find_if(config.routes, reads);
    if (first != config.routes.end() && stricter(*first))
      return LookAlike{.whose = "a guarded route", .overlooked = what};
  }
  return std::nullopt;
}

Match unguarded(const Config& config, const policy::Route& route, std::string_view method) {
  const bool known = std::ranges::find(usual_methods, method) != usual_methods.end() ||
                     std::ranges::find(config.server.methods, method) != config.server.methods.end();
  if (!known) return UnknownMethod{};
  return Unguarded{&route};
}

}  // namespace

Match match(const Config& config, std::string_view method, std::string_view path) {
  for (const webhook::Webhook& webhook : config.webhooks) {
    if (!webhook.path.matches(path)) continue;
    if (const auto why = policy::doubtful_path(path)) return DoubtfulPath{*why};
    return WebhookCall{&webhook};
  }
  for (const policy::Route& route : config.routes) {
    if (!route.path.matches(path)) continue;
    if (!route.path.literal()) {
      if (const auto found = look_alike(config, route, method, path)) return *found;
    }
    if (route.key == KeyMode::off) return unguarded(config, route, method);
    if (!lists(route, method)) {
      if (misspelled(route, method)) return MisspelledMethod{};
      return unguarded(config, route, method);
    }
    if (const auto why = policy::doubtful_path(path)) return DoubtfulPath{*why};
    return Guarded{&route};
  }
  return NoRoute{};
}

std::string detail_of(const LookAlike& found) {
  return fmt::format("Some servers would take this path for that of {}: they ignore {}.", found.whose,
                     policy::to_text(found.overlooked));
}

bool lists(const policy::Route& route, std::string_view method) {
  return std::ranges::find(route.methods, method) != route.methods.end();
}

bool misspelled(const policy::Route& route, std::string_view method) {
  return std::ranges::any_of(route.methods,
                             [&](const std::string& one) { return core::equal_ignoring_case(one, method); });
}

}  // namespace semel::config
