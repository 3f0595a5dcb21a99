// What a thread answers requests with, under one configuration. A reload makes a new one; requests keep the one that
// they started with.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/check.h"
#include "gateway/rate_limiter.h"
#include "gateway/tls_set.h"
#include "http/ticker.h"
#include "http/upstream.h"
#include "telemetry/metrics.h"
#include "telemetry/webhook_metrics.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {

struct Plan : std::enable_shared_from_this<Plan> {
  std::shared_ptr<const config::Config> config;
  std::vector<std::unique_ptr<http::Upstream>> upstreams;  // as in the configuration
  std::vector<telemetry::RouteMetrics*> routes;            // as in the configuration
  struct WebhookCount {
    telemetry::RouteMetrics* as_route;
    telemetry::WebhookCounters* counters;
    RateLimiter* limiter;
  };
  std::vector<WebhookCount> webhooks;  // as in the configuration
  telemetry::RouteMetrics* no_route = nullptr;

  [[nodiscard]] telemetry::RouteMetrics& metrics_of(const policy::Route& route) const {
    const auto at = static_cast<std::size_t>(&route - config->routes.data());
    core::check(at < routes.size(), "a route is one of its plan's configuration");
    return *routes[at];
  }
  [[nodiscard]] telemetry::RouteMetrics& metrics_of(const webhook::Webhook& webhook) const {
    return *count_of(webhook).as_route;
  }
  [[nodiscard]] telemetry::WebhookCounters& counters_of(const webhook::Webhook& webhook) const {
    return *count_of(webhook).counters;
  }
  [[nodiscard]] RateLimiter& limiter_of(const webhook::Webhook& webhook) const { return *count_of(webhook).limiter; }

 private:
  [[nodiscard]] const WebhookCount& count_of(const webhook::Webhook& webhook) const {
    const auto at = static_cast<std::size_t>(&webhook - config->webhooks.data());
    core::check(at < webhooks.size(), "a webhook is one of its plan's configuration");
    return webhooks[at];
  }
};

// What a plan points to: these outlive it.
struct PlanParts {
  Clock& clock;
  http::Ticker& ticker;
  telemetry::Metrics& metrics;
  RateLimiters& limiters;
};

std::shared_ptr<const Plan> make_plan(std::shared_ptr<const config::Config> config, const PlanParts& parts,
                                      const Executor& executor, const TlsSet& tls);

// An upstream, and why it cannot be reached; empty if it can be.
struct UpstreamState {
  std::string name;
  std::string trouble;
};

// Opens a connection to each, one after the other.
Task<std::vector<UpstreamState>> upstream_states(std::shared_ptr<const Plan> plan);

}  // namespace semel::gateway
