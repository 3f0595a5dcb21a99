// From text to Config: every table is read, whatever is wrong with the others, so that all errors are reported at once.
#include "config/parse.h"

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
#include "policy/expression.h"
#include "policy/pattern.h"
#include "policy/route.h"
#include "policy/spelling.h"
#include "reading/address.h"
#include "reading/document.h"
#include "reading/issue.h"
#include "reading/report.h"
#include "reading/resolver.h"
#include "reading/table_reader.h"
#include <semel/http_request.h>
#include <semel/result.h>

namespace semel::config {
namespace {

constexpr std::size_t file_bytes_max = 4U << 20U;

}  // namespace

std::vector<const reading::Node*> tables_of(reading::Reading& reading, const reading::Node* node,
                                            std::string_view name) {
  std::vector<const reading::Node*> tables;
  if (node == nullptr) return tables;
  if (node->kind != reading::NodeKind::array) {
    reading.report.error(node->at, fmt::format("{} is a list of tables", name), fmt::format("[[{}]]", name));
    return tables;
  }
  for (const reading::Node& item : node->children) {
    if (item.kind == reading::NodeKind::table) {
      tables.push_back(&item);
    } else {
      reading.report.error(item.at, fmt::format("{} must be a table, not {}", name, reading::kind_name(item.kind)));
    }
  }
  return tables;
}

namespace {

Config read_document(reading::Reading& reading, const reading::Node& root) {
  Config config;
  Places places;
  reading::TableReader top(reading, &root, "the file");
  read_server(reading, top.find("server"), config.server);
  read_admin(reading, top.find("admin"), config.admin);
  read_api(reading, top.find("api"), config.api);
  read_store(reading, top.find("store"), config.store);
  read_limits(reading, top.find("limits"), config.limits);
  read_log(reading, top.find("log"), config.log);
  read_reply(reading, top.find("reply"), config.reply);
  read_jwt(reading, top.find("jwt"), config.jwt);
  const reading::Node* const upstreams = top.find("upstream");
  read_upstreams(reading, upstreams, config);
  for (const UpstreamConfig& upstream : config.upstreams)
    places.upstreams.push_back(upstreams->find(upstream.name)->at);
  read_inbox(reading, top.find("inbox"), config.inbox);
  read_destinations(reading, top.find("destination"), config);
  for (const reading::Node* outbox : tables_of(reading, top.find("outbox"), "outbox")) {
    read_outbox(reading, *outbox, config);
    places.outboxes.push_back(outbox->at);
  }
  for (const reading::Node* route : tables_of(reading, top.find("route"), "route")) {
    read_route(reading, *route, config);
    places.routes.push_back(route->at);
    const reading::Node* const probe = route->find("probe");
    places.probes.push_back(probe == nullptr ? std::nullopt : std::optional(probe->at));
  }
  for (const reading::Node* webhook : tables_of(reading, top.find("webhook"), "webhook")) {
    read_webhook(reading, *webhook, config);
    places.webhooks.push_back(webhook->at);
  }
  for (const reading::Node* audit : tables_of(reading, top.find("audit"), "audit")) {
    read_audit(reading, *audit, config);
  }
  for (const reading::Node* resolver : tables_of(reading, top.find("resolver"), "resolver")) {
    read_resolver(reading, *resolver, config);
  }
  top.finish();
  check_whole(reading, root, config, places);
  return config;
}

}  // namespace

std::expected<LoadedConfig, std::vector<reading::Issue>> parse_config(std::string_view text, std::string_view name,
                                                                      const reading::Resolver& resolver) {
  reading::Reading reading{.report = reading::Report(name, text), .resolver = &resolver, .uses = {}};
  if (text.size() > file_bytes_max) {
    reading.report.error({}, "the file is over 4MiB");
    return std::unexpected(std::move(reading.report).take());
  }
  const auto root = reading::parse_document(text);
  if (!root) {
    reading.report.error(root.error().at, root.error().message);
    return std::unexpected(std::move(reading.report).take());
  }
  Config config = read_document(reading, *root);
  const bool failed = reading.report.has_errors();
  std::vector<reading::Issue> issues = std::move(reading.report).take();
  if (failed) return std::unexpected(std::move(issues));
  config.settings = std::move(reading.uses);
  return LoadedConfig{.config = std::move(config), .warnings = std::move(issues), .files = std::move(reading.files)};
}

std::vector<reading::KeyUse> survey_config(std::string_view text, const reading::Resolver& resolver) {
  reading::Reading reading{.report = reading::Report("", text), .resolver = &resolver, .uses = {}};
  if (const auto root = reading::parse_document(text)) read_document(reading, *root);
  return std::move(reading.uses);
}

Result<Config> default_config(std::string_view upstream_url) {
  auto url = reading::parse_url(upstream_url);
  if (!url) return fail(Code::invalid, fmt::format("\"{}\": {}", upstream_url, url.error().message));
  if (!url->path.empty() && url->path != "/") {
    return fail(Code::invalid, fmt::format("\"{}\": requests keep their own path, so none can be added", upstream_url));
  }
  url->path.clear();
  Config config;
  // A service on another machine is called by its own name; one on this machine expects the name that its callers use.
  UpstreamConfig upstream;
  upstream.name = "app";
  upstream.host = url->secure ? HostSource::upstream : HostSource::client;
  upstream.urls.push_back(std::move(*url));
  config.upstreams.push_back(std::move(upstream));
  policy::Route route;
  route.path = policy::pattern("/*");
  route.plain_path = policy::plainest(route.path);
  route.key = KeyMode::optional;
  route.scope = policy::expression("{header:Authorization?}");
  route.target.store_body_max = config.limits.store_body_max;
  config.routes.push_back(std::move(route));
  return config;
}

}  // namespace semel::config
