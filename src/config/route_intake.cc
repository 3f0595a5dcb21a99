// What a [[route]] with `delivery = "inbox"` says.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"
#include "config/sections.h"
#include "inbox/destination.h"
#include "policy/expression.h"
#include "policy/route.h"
#include "reading/nearest.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include "webhook/webhook.h"
#include <semel/http_request.h>
#include <semel/once.h>

namespace semel::config {
namespace {

// The [destination.NAME] of the file that the route names. None: it names none.
std::optional<std::size_t> read_destination_name(reading::TableReader& table, const Config& config) {
  std::string name;
  reading::read_text(table, "destination", name);
  if (name.empty()) return std::nullopt;
  std::vector<std::string_view> names;
  names.reserve(config.destinations.size());
  for (const inbox::Destination& each : config.destinations) names.emplace_back(each.name);
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  table.reject("destination", table.at("destination"), fmt::format("there is no [destination.{}]", name),
               reading::nearest(name, names).value_or(std::string_view{}));
  return std::nullopt;
}

// What would be promised and could not be kept.
void check_inbox_route(reading::TableReader& table, const policy::Route& route) {
  const auto refuse = [&table](std::string_view key, std::string_view why) {
    table.reject(key, table.at(table.has(key) ? key : "delivery"), std::string(why));
  };
  if (route.key == KeyMode::off) refuse("key", "delivery = \"inbox\" needs a key: a retry is known by it");
  if (route.target.policy.on_unknown == Policy::OnUnknown::probe && table.has("destination")) {
    refuse("on_unknown", "with `destination`, that [destination.NAME] says what follows an unknown outcome");
  }
  if (route.revalidate) refuse("revalidate", "delivery = \"inbox\" asks nobody before it replays an answer");
  if (route.scope.has(policy::PartKind::json) || route.scope.has(policy::PartKind::jwt)) {
    refuse("scope",
           "delivery = \"inbox\" needs a scope that the request for a Location has, too: no {json:} or {jwt:}");
  }
}

// The route's own upstream is the one destination. It gives up before the key of a request is forgotten.
std::size_t add_own_destination(const policy::Route& route, Config& config) {
  inbox::Destination own;
  own.name = route.path.text;
  own.upstream = route.target.upstream;
  own.schedule.give_up_after = std::min(own.schedule.give_up_after, route.target.policy.ttl);
  own.on_unknown = silence_of(route.target.policy.on_unknown);
  config.destinations.push_back(std::move(own));
  return config.destinations.size() - 1;
}

}  // namespace

void read_route_intake(reading::TableReader& table, const policy::Route& route, Config& config) {
  webhook::Delivery delivery = webhook::Delivery::forward;
  reading::read_choice(table, "delivery", delivery, delivery_choices);
  std::optional<std::size_t> to = read_destination_name(table, config);
  inbox::InboxRules intake;
  reading::read_count(table, "depth_max", intake.depth_max, {.min = 1, .max = 4'000'000'000U});
  reading::read_flag(table, "keep_credentials", intake.credentials);
  config.route_intakes.emplace_back();
  if (delivery == webhook::Delivery::forward) {
    for (const std::string_view key : {"destination", "depth_max", "keep_credentials"}) {
      if (table.has(key)) table.warn(key, fmt::format("{} has no effect without delivery = \"inbox\"", key));
    }
    return;
  }
  check_inbox_route(table, route);
  if (!to) to = add_own_destination(route, config);
  const inbox::Destination& named = config.destinations[*to];
  if (route.target.policy.ttl < named.schedule.give_up_after) {
    table.warn("ttl", fmt::format("ttl is {}, but {} is tried for {}: a late retry of a request that still waits would "
                                  "be taken for a new one",
                                  reading::duration_text(route.target.policy.ttl), named.name,
                                  reading::duration_text(named.schedule.give_up_after)));
  }
  intake.deliver.push_back({.to = *to, .when = std::nullopt});
  config.route_intakes.back() = std::move(intake);
}

}  // namespace semel::config
