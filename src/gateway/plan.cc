#include "gateway/plan.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/check.h"
#include "gateway/tls_set.h"
#include "http/upstream.h"
#include "policy/route.h"
#include "reading/address.h"
#include "telemetry/metrics.h"
#include "webhook/webhook.h"
#include <semel/async.h>

namespace semel::gateway {

std::shared_ptr<const Plan> make_plan(std::shared_ptr<const config::Config> config, const PlanParts& parts,
                                      const Executor& executor, const TlsSet& tls) {
  core::check(tls.upstreams.size() == config->upstreams.size(), "certificates and upstreams are of one configuration");
  auto plan = std::make_shared<Plan>();
  for (const config::UpstreamConfig& upstream : config->upstreams) {
    http::UpstreamOptions options{.addresses = {},
                                  .connect_time = upstream.connect_timeout,
                                  .idle_time = upstream.idle_timeout,
                                  .idle_max = upstream.connections,
                                  .tls = tls.upstreams[plan->upstreams.size()]};
    for (const reading::Url& url : upstream.urls) {
      options.addresses.push_back({.host = url.authority.host, .port = url.authority.port, .secure = url.secure});
    }
    plan->upstreams.push_back(
        std::make_unique<http::Upstream>(std::move(options), parts.clock, executor, parts.ticker));
  }
  for (const policy::Route& route : config->routes) plan->routes.push_back(&parts.metrics.route(route.path.text));
  for (const webhook::Webhook& webhook : config->webhooks) {
    plan->webhooks.push_back({.as_route = &parts.metrics.route(webhook.path.text),
                              .counters = &parts.metrics.webhooks.webhook(webhook.path.text, webhook.provider),
                              .limiter = &parts.limiters.of(webhook.path.text, webhook.provider)});
  }
  plan->no_route = &parts.metrics.route("");
  plan->config = std::move(config);
  return plan;
}

Task<std::vector<UpstreamState>> upstream_states(std::shared_ptr<const Plan> plan) {
  std::vector<UpstreamState> states;
  for (std::size_t i = 0; i < plan->upstreams.size(); ++i) {
    UpstreamState& state = states.emplace_back();
    state.name = plan->config->upstreams[i].name;
    const auto link = co_await plan->upstreams[i]->link(http::Upstream::Use::fresh);
    if (link) continue;
    const std::string& why = plan->upstreams[i]->trouble();
    state.trouble = "cannot be reached" + (why.empty() ? "" : ": " + why);
  }
  co_return states;
}

}  // namespace semel::gateway
