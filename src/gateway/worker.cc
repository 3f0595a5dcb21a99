// Everything here runs on the worker's own thread but start, reload, drain, stop and join, which only post to it.
#include "gateway/worker.h"

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include "config/config.h"
#include "gateway/bookkeeper.h"
#include "gateway/exchange.h"
#include "gateway/plan.h"
#include "gateway/services.h"
#include "gateway/tls_set.h"
#include "http/listener.h"
#include "http/session.h"
#include "http/ticker.h"
#include "http/transaction.h"
#include "reading/address.h"
#include "telemetry/histogram.h"
#include "telemetry/metrics.h"
#include "telemetry/request_log.h"
#include "telemetry/sighting.h"
#include "telemetry/tally.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::gateway {
namespace {

namespace asio = boost::asio;

http::SessionLimits limits_of(const config::LimitsConfig& limits) {
  return {.head = {.head_bytes = static_cast<std::uint32_t>(limits.header_bytes),
                   .target_bytes = limits.target_bytes,
                   .line_bytes = limits.header_line_bytes,
                   .fields = limits.header_fields},
          .head_time = limits.header_timeout,
          .body_time = limits.body_timeout,
          .idle_time = limits.idle_timeout,
          .body_rate_min = limits.body_rate_min};
}

}  // namespace

Worker::Worker(const Shared& shared, std::shared_ptr<const config::Config> config, const TlsSet& tls)
    : shared_(shared),
      ticker_(shared.clock, context_.get_executor()),
      traces_{.log = telemetry::RequestLog(shared.log)},
      replays_(shared.clock, config->limits.replay_cache_bytes),
      fetching_(shared.clock, context_.get_executor()),
      plan_(plan_for(std::move(config), tls)) {}

Worker::~Worker() {
  join();
}

std::shared_ptr<const Plan> Worker::plan_for(std::shared_ptr<const config::Config> config, const TlsSet& tls) {
  const PlanParts parts{
      .clock = shared_.clock, .ticker = ticker_, .metrics = shared_.metrics, .limiters = shared_.limiters};
  return make_plan(std::move(config), parts, context_.get_executor(), tls);
}

Result<std::unique_ptr<http::Listener>> Worker::open(const reading::Endpoint& endpoint, http::Sharing sharing) {
  if (const auto socket = shared_.inherited.copy_of(endpoint.port)) {
    return http::Listener::adopt(context_.get_executor(), ticker_, *socket, shared_.gate);
  }
  return http::Listener::open(context_.get_executor(), ticker_, endpoint.host, endpoint.port, sharing, shared_.gate);
}

Result<std::uint16_t> Worker::listen(const reading::Endpoint& endpoint, http::Sharing sharing, const TlsSet& tls) {
  listeners_.clients.reset();
  auto listener = open(endpoint, sharing);
  if (!listener) return std::unexpected(listener.error());
  listeners_.clients = *std::move(listener);
  listeners_.clients->set_tls(tls.server);
  return listeners_.clients->port();
}

Result<std::uint16_t> Worker::listen_for_api(const reading::Endpoint& endpoint, http::Sharing sharing,
                                             const TlsSet& tls, const MakeHandler& make) {
  listeners_.api.reset();
  auto listener = open(endpoint, sharing);
  if (!listener) return std::unexpected(listener.error());
  listeners_.api = *std::move(listener);
  listeners_.api->set_tls(tls.api);
  if (api_handler_ == nullptr) {
    api_handler_ = make({.once = shared_.once,
                         .clock = shared_.clock,
                         .metrics = shared_.metrics,
                         .log = traces_.log,
                         .config = [this] { return plan_->config; },
                         .sighted = [this] { return traces_.sights ? &traces_.sightings : nullptr; }});
  }
  return listeners_.api->port();
}

telemetry::SightingBuffer& Worker::keep_sightings() {
  traces_.sights = true;
  return traces_.sightings;
}

void Worker::start() {
  ticker_.start();
  const http::SessionLimits limits = limits_of(plan_->config->limits);
  if (listeners_.clients != nullptr) listeners_.clients->start(*this, limits);
  if (listeners_.api != nullptr) listeners_.api->start(*api_handler_, limits);
  asio::co_spawn(context_.get_executor(), keep_house(), asio::detached);
  thread_ = std::thread([this] {
    context_.run();
    ended_ = true;
  });
}

Task<void> Worker::forgotten(const Digest* id) {
  if (id == nullptr) replays_.forget_all();
  if (id != nullptr) replays_.forget(Key{.id = *id, .scope = {}, .space = {}});
  co_return;
}

void Worker::forget(const Digest* id) {
  const std::optional<Digest> which = id == nullptr ? std::nullopt : std::optional(*id);
  asio::post(context_, [this, which] {
    if (!which) replays_.forget_all();
    if (which) replays_.forget(Key{.id = *which, .scope = {}, .space = {}});
  });
}

void Worker::reload(std::shared_ptr<const config::Config> config, TlsSet tls) {
  asio::post(context_, [this, config = std::move(config), tls = std::move(tls)]() mutable {
    plan_ = plan_for(std::move(config), tls);
    if (listeners_.clients != nullptr) listeners_.clients->set_tls(tls.server);
    if (listeners_.api != nullptr) listeners_.api->set_tls(tls.api);
  });
}

void Worker::drain() {
  asio::post(context_, [this] {
    if (listeners_.clients != nullptr) listeners_.clients->stop();
    if (listeners_.api != nullptr) listeners_.api->stop();
    ticker_.cut_idle();
    drain_until_ = shared_.clock.now() + plan_->config->limits.drain_timeout;
  });
}

void Worker::stop() {
  context_.stop();
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

Task<void> Worker::handle(http::Transaction& transaction) {
  const Services services{.once = shared_.once,
                          .clock = shared_.clock,
                          .metrics = shared_.metrics,
                          .sightings = shared_.witness.sightings,
                          .shapes = shared_.witness.shapes,
                          .tail = shared_.witness.tail,
                          .sighted = traces_.sights ? &traces_.sightings : nullptr,
                          .replays = replays_,
                          .log = traces_.log,
                          .books = {.notebook = traces_.notebook, .watch = shared_.books.watch()},
                          .keys = fetching_.keys,
                          .inquiries = fetching_.inquiries,
                          .quotas = shared_.quotas,
                          .companies = shared_.companies,
                          .glance = shared_.glance,
                          .dispatcher = shared_.dispatcher,
                          .lookup = shared_.lookup,
                          .reminders = shared_.reminders};
  return exchange(services, plan_, &transaction);
}

// Nothing of what came is believed, so nothing of it is in the line.
void Worker::refused(std::uint16_t status) {
  if (status == 408) shared_.metrics.clients.slow.fetch_add(1, std::memory_order_relaxed);
  telemetry::count(plan_->no_route->by_ending, telemetry::Ending::malformed);
  traces_.notebook.tallies.add(*plan_->no_route, telemetry::TallyOutcome::malformed, std::nullopt, {});
  telemetry::LogEntry entry;
  entry.at = shared_.clock.wall();
  entry.level = config::LogLevel::warning;
  entry.outcome = name(telemetry::Ending::malformed);
  entry.status = status;
  if (plan_->config->log.takes(config::LogLevel::warning)) traces_.log.add(entry);
}

void Worker::turned_away() {
  shared_.metrics.clients.turned_away.fetch_add(1, std::memory_order_relaxed);
}

void Worker::handshake_failed() {
  shared_.metrics.clients.handshake_failures.fetch_add(1, std::memory_order_relaxed);
}

// Writes the log every tick; when draining, ends the thread once the last connection is gone or time is up.
Task<void> Worker::keep_house() {
  constexpr auto ticks_between_takes = static_cast<std::uint64_t>(Bookkeeper::taken_every / http::Ticker::period);
  for (std::uint64_t ticks = 0;;) {
    co_await ticker_.next();
    traces_.log.flush();
    traces_.sightings.hand_over();
    if (++ticks % ticks_between_takes == 0) shared_.books.take(traces_.notebook);
    if (!drain_until_) continue;
    ticker_.cut_idle();
    const bool delivering = shared_.dispatcher != nullptr && shared_.dispatcher->under_way() > 0;
    if ((shared_.gate.connections == 0 && !delivering) || shared_.clock.now() >= *drain_until_) break;
  }
  shared_.books.take(traces_.notebook);
  ticker_.stop();
  context_.stop();
}

}  // namespace semel::gateway
