// What a thread answers requests with, under one configuration. A reload makes a new one; requests keep the one that
// they started with.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gateway/metrics.h"
#include "gateway/rate_limiter.h"
#include "gateway/tls_set.h"
#include "gateway/webhook_metrics.h"
#include "http/ticker.h"
#include "http/upstream.h"
#include "policy/config.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel {

struct Plan {
  std::shared_ptr<const Config> config;
  std::vector<std::unique_ptr<http::Upstream>> upstreams;  // as in the configuration
  std::vector<RouteMetrics*> routes;                       // as in the configuration
  struct WebhookCount {
    RouteMetrics* as_route;
    WebhookCounters* counters;
    RateLimiter* limiter;
  };
  std::vector<WebhookCount> webhooks;  // as in the configuration
  RouteMetrics* no_route = nullptr;

  [[nodiscard]] RouteMetrics& metrics_of(const Route& route) const {
    return *routes[static_cast<std::size_t>(&route - config->routes.data())];
  }
  [[nodiscard]] RouteMetrics& metrics_of(const Webhook& webhook) const { return *count_of(webhook).as_route; }
  [[nodiscard]] WebhookCounters& counters_of(const Webhook& webhook) const { return *count_of(webhook).counters; }
  [[nodiscard]] RateLimiter& limiter_of(const Webhook& webhook) const { return *count_of(webhook).limiter; }

 private:
  [[nodiscard]] const WebhookCount& count_of(const Webhook& webhook) const {
    return webhooks[static_cast<std::size_t>(&webhook - config->webhooks.data())];
  }
};

std::shared_ptr<const Plan> make_plan(std::shared_ptr<const Config> config, Clock& clock, const Executor& executor,
                                      http::Ticker& ticker, Metrics& metrics, const TlsSet& tls);

}  // namespace semel
