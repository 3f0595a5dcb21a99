// What a request of the gateway stands on, with the memory store, a clock turned by hand and no network.
#pragma once

#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "config/config.h"
#include "gateway/incoming.h"
#include "gateway/inquiries.h"
#include "gateway/plan.h"
#include "gateway/quotas.h"
#include "gateway/rate_limiter.h"
#include "gateway/replay_cache.h"
#include "gateway/services.h"
#include "gateway/tls_set.h"
#include "http/ticker.h"
#include "support/fake_transaction.h"
#include "support/virtual_clock.h"
#include "telemetry/doctor_watch.h"
#include "telemetry/log_sink.h"
#include "telemetry/metrics.h"
#include "telemetry/notebook.h"
#include "telemetry/request_log.h"
#include <semel/once.h>
#include <semel/stores.h>

namespace semel::test {

class World {
 public:
  World() { install({}); }

  // Requests from now on go by this configuration.
  void install(config::Config config) {
    gateway::TlsSet plain;
    plain.upstreams.resize(config.upstreams.size());
    plan = gateway::make_plan(std::make_shared<const config::Config>(std::move(config)),
                              {.clock = clock, .ticker = ticker_, .metrics = metrics, .limiters = limiters_},
                              context.get_executor(), plain);
  }

  gateway::Incoming incoming(FakeTransaction& client) { return gateway::incoming_of(services, *plan, client); }

  void settle() {
    context.restart();
    context.poll();
  }

  boost::asio::io_context context{1};
  VirtualClock clock;
  OpenedStore opened = make_memory_store(clock);
  Once once{*opened.store, clock, 42};
  telemetry::Metrics metrics;
  gateway::ReplayCache replays{clock, 1'000'000};
  std::shared_ptr<const gateway::Plan> plan;

 private:
  http::Ticker ticker_{clock, context.get_executor()};
  gateway::RateLimiters limiters_;
  gateway::Witness witness_;
  telemetry::LogSink sink_{-1};  // nothing is logged
  telemetry::RequestLog log_{sink_};
  telemetry::Notebook notebook_;
  telemetry::DoctorWatch watch_;
  gateway::Fetching fetching_{clock, context.get_executor()};
  gateway::Quotas quotas_;
  gateway::Companies companies_{1};

 public:
  const gateway::Services services{.once = once,
                                   .clock = clock,
                                   .metrics = metrics,
                                   .sightings = witness_.sightings,
                                   .shapes = witness_.shapes,
                                   .tail = witness_.tail,
                                   .sighted = nullptr,
                                   .replays = replays,
                                   .log = log_,
                                   .books = {.notebook = notebook_, .watch = watch_},
                                   .keys = fetching_.keys,
                                   .inquiries = fetching_.inquiries,
                                   .quotas = quotas_,
                                   .companies = companies_,
                                   .glance = nullptr,
                                   .dispatcher = nullptr,
                                   .lookup = nullptr,
                                   .reminders = nullptr};
};

}  // namespace semel::test
