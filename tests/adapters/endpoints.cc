// From a configuration file to the guards of a server: the same loading and the same stores as the gateway has.
#include "adapters/endpoints.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "cli/load.h"
#include "cli/stores.h"
#include "reading/secret.h"
#include "telemetry/metrics.h"
#include <semel/result.h>
#include <semel/webhook.h>

namespace semel::test {
namespace {

template <class T>
T or_exit(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "adapters: %s\n", result.error().detail.c_str());
  std::exit(1);
}

Guard::Rules rules_of(const policy::Target& target, const config::Config& config) {
  Guard::Rules rules;
  rules.policy = target.policy;
  for (std::uint16_t status = 200; status < 600; ++status) {
    if (const auto verdict = target.keep.find(status)) rules.keep.emplace_back(std::to_string(status), *verdict);
  }
  rules.replay_fields = target.replay_fields;
  rules.body_bytes_max = config.limits.body_bytes;
  rules.store_body_max = target.store_body_max;
  rules.problem_base = config.reply.problem_base;
  rules.replayed_header = config.reply.replayed_header;
  rules.docs_url = config.reply.docs_url;
  return rules;
}

Guard::Rules rules_of(const policy::Route& route, const config::Config& config) {
  Guard::Rules rules = rules_of(route.target, config);
  rules.methods = route.methods;
  rules.key = route.key;
  rules.key_from = route.key_from.text;
  rules.scope = route.scope.text;
  rules.space = route.space;
  rules.fingerprint = route.fingerprint;
  for (const auto& path : route.ignore.paths()) {
    std::string& pointer = rules.ignore.emplace_back();
    for (const std::string& token : path) pointer += "/" + token;
  }
  return rules;
}

Guard::Rules rules_of(const webhook::Webhook& webhook, const config::Config& config, Clock& clock) {
  Guard::Rules rules = rules_of(webhook.target, config);
  std::vector<std::string> secrets;
  for (const reading::Secret& secret : webhook.secrets) secrets.push_back(secret.reveal());
  const WebhookVerifier::Options options{.public_url = config.server.public_url,
                                         .verify_token = webhook.verify_token.reveal()};
  rules.webhook = or_exit(WebhookVerifier::make(webhook.provider, secrets, clock, options));
  rules.space = "default";
  return rules;
}

}  // namespace

const Place* Endpoints::find(std::string_view target) const {
  const std::string_view path = target.substr(0, target.find('?'));
  for (const Place& place : places) {
    if (place.path.matches(path)) return &place;
  }
  return nullptr;
}

Endpoints load_endpoints(int count, char** arguments) {
  const std::string file = count > 3 ? arguments[3] : "";
  Endpoints all;
  all.config = cli::load_config(file);
  if (all.config == nullptr) std::exit(1);
  all.clock = make_system_clock();
  all.store =
      std::move(or_exit(cli::open_store(*all.config, *all.clock, std::make_shared<telemetry::StoreMetrics>())).store);
  for (const webhook::Webhook& webhook : all.config->webhooks) {
    if (webhook.provider == "acme") continue;  // of a file of the user's own: those are for the gateway
    all.places.push_back({.path = webhook.path,
                          .guard = or_exit(Guard::make(rules_of(webhook, *all.config, *all.clock))),
                          .upstream = &all.config->upstreams[webhook.target.upstream]});
  }
  for (const policy::Route& route : all.config->routes) {
    all.places.push_back({.path = route.path,
                          .guard = or_exit(Guard::make(rules_of(route, *all.config))),
                          .upstream = &all.config->upstreams[route.target.upstream]});
  }
  return all;
}

void announce(std::uint16_t port) {
  std::fprintf(stderr, "adapters: listening on %u\n", static_cast<unsigned>(port));
}

}  // namespace semel::test
