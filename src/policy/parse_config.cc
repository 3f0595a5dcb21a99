// From text to Config: every table is read whatever the others hold, so that all errors come at once.
#include "policy/parse_config.h"

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "policy/address.h"
#include "policy/config.h"
#include "policy/config_sections.h"
#include "policy/document.h"
#include "policy/expression.h"
#include "policy/issue.h"
#include "policy/pattern.h"
#include "policy/report.h"
#include "policy/resolver.h"
#include "policy/table_reader.h"
#include <semel/http_request.h>
#include <semel/result.h>

namespace semel {
namespace {

constexpr std::size_t file_bytes_max = 4U << 20U;

// The tables of an array of tables; anything else is reported.
std::vector<const Node*> tables_of(Reading& reading, const Node* node, std::string_view name) {
  std::vector<const Node*> tables;
  if (node == nullptr) return tables;
  if (node->kind != NodeKind::array) {
    reading.report.error(node->at, fmt::format("{} is a list of tables", name), fmt::format("[[{}]]", name));
    return tables;
  }
  for (const Node& item : node->children) {
    if (item.kind == NodeKind::table) {
      tables.push_back(&item);
    } else {
      reading.report.error(item.at, fmt::format("{} must be a table, not {}", name, kind_name(item.kind)));
    }
  }
  return tables;
}

Config read_document(Reading& reading, const Node& root) {
  Config config;
  Places places;
  TableReader top(reading, &root, "the file");
  read_server(reading, top.find("server"), config.server);
  read_admin(reading, top.find("admin"), config.admin);
  read_store(reading, top.find("store"), config.store);
  read_limits(reading, top.find("limits"), config.limits);
  read_log(reading, top.find("log"), config.log);
  read_reply(reading, top.find("reply"), config.reply);
  const Node* const upstreams = top.find("upstream");
  read_upstreams(reading, upstreams, config);
  for (const UpstreamConfig& upstream : config.upstreams)
    places.upstreams.push_back(upstreams->find(upstream.name)->at);
  for (const Node* route : tables_of(reading, top.find("route"), "route")) {
    read_route(reading, *route, config);
    places.routes.push_back(route->at);
  }
  for (const Node* webhook : tables_of(reading, top.find("webhook"), "webhook")) {
    read_webhook(reading, *webhook, config);
    places.webhooks.push_back(webhook->at);
  }
  top.finish();
  check_whole(reading, root, config, places);
  return config;
}

}  // namespace

std::expected<LoadedConfig, std::vector<Issue>> parse_config(std::string_view text, std::string_view name,
                                                             const Resolver& resolver) {
  Reading reading{.report = Report(name, text), .resolver = &resolver, .uses = {}};
  if (text.size() > file_bytes_max) {
    reading.report.error({}, "the file is over 4MiB");
    return std::unexpected(std::move(reading.report).take());
  }
  const auto root = parse_document(text);
  if (!root) {
    reading.report.error(root.error().at, root.error().message);
    return std::unexpected(std::move(reading.report).take());
  }
  Config config = read_document(reading, *root);
  const bool failed = reading.report.has_errors();
  std::vector<Issue> issues = std::move(reading.report).take();
  if (failed) return std::unexpected(std::move(issues));
  return LoadedConfig{.config = std::move(config), .warnings = std::move(issues)};
}

std::vector<KeyUse> survey_config(std::string_view text, const Resolver& resolver) {
  Reading reading{.report = Report("", text), .resolver = &resolver, .uses = {}};
  if (const auto root = parse_document(text)) read_document(reading, *root);
  return std::move(reading.uses);
}

Result<Config> default_config(std::string_view upstream_url) {
  auto url = parse_url(upstream_url);
  if (!url) return fail(Code::invalid, fmt::format("\"{}\": {}", upstream_url, url.error().message));
  if (!url->path.empty() && url->path != "/") {
    return fail(Code::invalid, fmt::format("\"{}\": requests keep their own path, so none can be added", upstream_url));
  }
  url->path.clear();
  Config config;
  // A service somewhere else is found by its own name; one beside us is used to the name that its callers use.
  UpstreamConfig upstream;
  upstream.name = "app";
  upstream.host = url->secure ? HostSource::upstream : HostSource::client;
  upstream.urls.push_back(std::move(*url));
  config.upstreams.push_back(std::move(upstream));
  Route route;
  route.path = pattern("/*");
  route.key = KeyMode::optional;
  route.scope = expression("{header:Authorization?}");
  route.store_body_max = config.limits.store_body_max;
  config.routes.push_back(std::move(route));
  return config;
}

}  // namespace semel
