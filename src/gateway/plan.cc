#include "gateway/plan.h"

#include <memory>
#include <utility>

#include "config/config.h"
#include "gateway/tls_set.h"
#include "http/ticker.h"
#include "http/upstream.h"
#include "policy/route.h"
#include "reading/address.h"
#include "telemetry/metrics.h"
#include "telemetry/webhook_metrics.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {

std::shared_ptr<const Plan> make_plan(std::shared_ptr<const config::Config> config, Clock& clock,
                                      const Executor& executor, http::Ticker& ticker, telemetry::Metrics& metrics,
                                      const TlsSet& tls) {
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
    plan->upstreams.push_back(std::make_unique<http::Upstream>(std::move(options), clock, executor, ticker));
  }
  for (const policy::Route& route : config->routes) plan->routes.push_back(&metrics.route(route.path.text));
  for (const webhook::Webhook& webhook : config->webhooks) {
    telemetry::WebhookCounters& counters = metrics.webhooks.webhook(webhook.path.text, webhook.provider);
    plan->webhooks.push_back(
        {.as_route = &metrics.route(webhook.path.text), .counters = &counters, .limiter = &counters.limiter});
  }
  plan->no_route = &metrics.route("");
  plan->config = std::move(config);
  return plan;
}

}  // namespace semel::gateway
