// The rules between tables.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"
#include "config/sections.h"
#include "inbox/destination.h"
#include "policy/expression.h"
#include "policy/identify.h"
#include "policy/pattern.h"
#include "policy/route.h"
#include "policy/target.h"
#include "reading/document.h"
#include "reading/issue.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include "webhook/webhook.h"
#include <semel/once.h>

namespace semel::config {
namespace {

struct Path {
  const policy::Pattern* pattern;
  reading::Position at;
  std::string_view table;
};

// In the order in which they are tried: webhooks before routes.
std::vector<Path> all_paths(const Config& config, const Places& places) {
  std::vector<Path> paths;
  paths.reserve(config.webhooks.size() + config.routes.size());
  for (std::size_t i = 0; i < config.webhooks.size(); ++i) {
    paths.push_back({.pattern = &config.webhooks[i].path, .at = places.webhooks[i], .table = "webhook"});
  }
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    paths.push_back({.pattern = &config.routes[i].path, .at = places.routes[i], .table = "route"});
  }
  std::erase_if(paths, [](const Path& path) { return path.pattern->text.empty(); });  // reported already
  return paths;
}

void check_paths(reading::Reading& reading, const std::vector<Path>& paths) {
  for (std::size_t later = 0; later < paths.size(); ++later) {
    const auto before = paths.begin() + static_cast<std::ptrdiff_t>(later);
    const auto cover = std::find_if(paths.begin(), before,
                                    [&](const Path& path) { return path.pattern->covers(*paths[later].pattern); });
    if (cover == before) continue;
    reading.report.warning(paths[later].at,
                           fmt::format("this {} is never reached: the {} \"{}\" in line {} takes all its paths first",
                                       paths[later].table, cover->table, cover->pattern->text, cover->at.line));
  }
}

void check_upstreams(reading::Reading& reading, const Config& config, const Places& places) {
  for (std::size_t i = 0; i < config.upstreams.size(); ++i) {
    const auto uses = [&](const auto& user) { return user.target.upstream == i; };
    const bool fed =
        std::ranges::find(config.destinations, i, &inbox::Destination::upstream) != config.destinations.end();
    if (fed || std::ranges::any_of(config.routes, uses) || std::ranges::any_of(config.webhooks, uses)) continue;
    reading.report.warning(places.upstreams[i], fmt::format("[upstream.{}] is not used", config.upstreams[i].name));
  }
}

// A key is remembered from its claim on: what runs as long as that is forgotten the moment it is answered.
template <class Users>
void check_ttls(reading::Reading& reading, const Config& config, const Users& users,
                const std::vector<reading::Position>& places) {
  for (std::size_t i = 0; i < users.size(); ++i) {
    const policy::Target& target = users[i].target;
    if (target.upstream >= config.upstreams.size()) continue;  // reported already
    const UpstreamConfig& upstream = config.upstreams[target.upstream];
    if (target.policy.ttl > upstream.timeout) continue;
    reading.report.warning(places[i],
                           fmt::format("ttl ({}) is not longer than the timeout of [upstream.{}] ({}), so the key "
                                       "of a slow request has expired when its retry comes",
                                       reading::duration_text(target.policy.ttl), upstream.name,
                                       reading::duration_text(upstream.timeout)));
  }
}

// Without certificates of clients no request would ever have that scope.
void check_client_certs(reading::Reading& reading, const Config& config, const Places& places) {
  if (config.server.tls && !config.server.tls->client_ca.empty()) return;
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    const policy::Route& route = config.routes[i];
    if (!route.scope.has(policy::PartKind::client_cert) && !route.key_from.has(policy::PartKind::client_cert)) continue;
    reading.report.error(places.routes[i], "{client_cert:subject} needs server.tls with client_ca");
  }
}

// A claim is known only of a token that can be verified.
void check_tokens(reading::Reading& reading, const reading::Node& root, const Config& config, const Places& places) {
  bool used = false;
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    if (!policy::needs_token(config.routes[i])) continue;
    used = true;
    if (root.find("jwt") != nullptr) continue;
    reading.report.error(places.routes[i], "{jwt:...} needs a table [jwt] that says how tokens are verified");
  }
  if (used || root.find("jwt") == nullptr) return;
  reading.report.warning(root.find("jwt")->at, "[jwt] is not used: no route has {jwt:...} in its scope or key_from");
}

// A queue needs what its keys need, and more: an order that survives, and one step for both.
void check_inbox_store(reading::Reading& reading, const Config& config, const Places& places) {
  const StoreKind kind = config.store.kind;
  if (kind != StoreKind::redis && kind != StoreKind::redis_cluster) return;
  const std::string_view why =
      "delivery = \"inbox\" needs the embedded store or PostgreSQL: a Redis that fails over may forget what was "
      "acknowledged, and an acknowledged event does not come again";
  for (std::size_t i = 0; i < config.webhooks.size(); ++i) {
    if (config.webhooks[i].delivery == webhook::Delivery::inbox) {
      reading.report.error(places.webhooks[i], std::string(why));
    }
  }
  for (std::size_t i = 0; i < config.route_intakes.size(); ++i) {
    if (config.route_intakes[i]) reading.report.error(places.routes[i], std::string(why));
  }
  for (const reading::Position& at : places.outboxes) {
    reading.report.error(
        at,
        "[[outbox]] needs the embedded store or PostgreSQL: what it moves goes through the inbox, which "
        "Redis does not have");
  }
}

reading::Position place_of(const reading::Node& root, std::string_view table, std::string_view key) {
  const reading::Node* const node = root.find(table);
  const reading::Node* const value = node == nullptr ? nullptr : node->find(key);
  return value == nullptr ? reading::Position{} : value->at;
}

// A gateway without routes does not listen for clients.
void check_api_address(reading::Reading& reading, const reading::Node& root, const Config& config) {
  if (!config.api.listen || config.api.listen->port == 0) return;
  const bool guards = !config.routes.empty() || !config.webhooks.empty();
  if (guards && config.api.listen == config.server.listen) {
    reading.report.error(place_of(root, "api", "listen"), "server.listen and api.listen are the same address");
  }
  if (config.api.listen == config.admin.listen) {
    reading.report.error(place_of(root, "api", "listen"), "admin.listen and api.listen are the same address");
  }
}

// Only when the resolvers have been read is it known who asks by the probe of a route.
void check_probes(reading::Reading& reading, const Config& config, const Places& places) {
  for (std::size_t i = 0; i < std::min(config.routes.size(), places.probes.size()); ++i) {
    const policy::Route& route = config.routes[i];
    const bool probes = route.target.policy.on_unknown == Policy::OnUnknown::probe;
    const auto asks = [&](const ResolverConfig& each) { return each.route == i && each.ask == ResolverAsk::probe; };
    if (probes || !route.probe || !places.probes[i] || std::ranges::any_of(config.resolvers, asks)) continue;
    reading.report.warning(*places.probes[i],
                           "probe is used by semel keys resolve --from-probe alone, unless on_unknown = \"probe\" or a "
                           "[[resolver]] asks by it");
  }
}

}  // namespace

void check_whole(reading::Reading& reading, const reading::Node& root, const Config& config, const Places& places) {
  check_paths(reading, all_paths(config, places));
  const bool tried = root.find("route") != nullptr || root.find("webhook") != nullptr;
  if (config.routes.empty() && config.webhooks.empty()) {
    if (!config.api.listen && !tried && config.outboxes.empty()) {
      reading.report.error({},
                           "there is neither a [[route]] nor a [[webhook]], so every request would be refused (404)");
    }
  } else {
    check_upstreams(reading, config, places);
    check_ttls(reading, config, config.routes, places.routes);
    check_ttls(reading, config, config.webhooks, places.webhooks);
  }
  check_probes(reading, config, places);
  check_client_certs(reading, config, places);
  check_tokens(reading, root, config, places);
  check_inbox_store(reading, config, places);
  check_api_address(reading, root, config);
  const bool clash = config.admin.listen == config.server.listen && config.server.listen.port != 0;
  if (clash) {
    const bool named = root.find("admin") != nullptr && root.find("admin")->find("listen") != nullptr;
    reading.report.error(named ? place_of(root, "admin", "listen") : place_of(root, "server", "listen"),
                         "server.listen and admin.listen are the same address");
  }
}

}  // namespace semel::config
