// How the parts of a gateway start together and stop together.
#include "gateway/gateway.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include "admin/admin.h"
#include "config/config.h"
#include "gateway/tls_set.h"
#include "gateway/worker.h"
#include "http/listener.h"
#include "http/ticker.h"
#include "reading/address.h"
#include "store/capable_store.h"
#include "telemetry/metrics.h"
#include "telemetry/request_log.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::gateway {
namespace {

constexpr std::size_t sweep_limit = 1'000;  // records a step, so that a sweep never holds up the requests

}  // namespace

Gateway::Gateway(store::CapableStore store, std::shared_ptr<const telemetry::StoreMetrics> store_metrics, Clock& clock,
                 std::uint64_t seed, std::size_t waiters_max)
    : metrics_(std::move(store_metrics)),
      once_(*store.store, clock, seed, waiters_max, store.endings),
      store_(std::move(store)) {}

Result<std::unique_ptr<Gateway>> Gateway::start(const std::shared_ptr<const config::Config>& config,
                                                store::CapableStore store, Clock& clock, telemetry::LogSink& log,
                                                std::uint64_t seed,
                                                std::shared_ptr<const telemetry::StoreMetrics> store_metrics) {
  Result<TlsSet> tls = load_tls(*config);
  if (!tls) return std::unexpected(tls.error());
  std::unique_ptr<Gateway> gateway(
      new Gateway(std::move(store), std::move(store_metrics), clock, seed, config->limits.waiters));
  gateway->metrics_.log = &log;
  gateway->gate_.connections_max = config->limits.connections;
  gateway->gate_.per_address_max = config->limits.connections_per_ip;
  const Shared shared{.clock = clock,
                      .once = gateway->once_,
                      .metrics = gateway->metrics_,
                      .observer = gateway->observer_,
                      .log = log,
                      .gate = gateway->gate_,
                      .quotas = gateway->quotas_,
                      .glance = gateway->store_.glance};
  const std::size_t threads =
      config->server.threads != 0 ? config->server.threads : std::max(1U, std::thread::hardware_concurrency());
  reading::Endpoint endpoint = config->server.listen;
  for (std::size_t i = 0; i < threads; ++i) {
    auto worker = std::make_unique<Worker>(shared, config, *tls);
    // The first looks whether the address is free, or another gateway would get half of our requests.
    Result<std::uint16_t> port = endpoint.port;
    if (i == 0) port = worker->listen(endpoint, http::Sharing::alone);
    if (port) endpoint.port = *port;  // if the system chose it for the first, the others share it
    if (port && threads > 1) port = worker->listen(endpoint, http::Sharing::shared);
    if (!port) return std::unexpected(port.error());
    gateway->workers_.push_back(std::move(worker));
  }
  gateway->port_ = endpoint.port;
  Worker& first = *gateway->workers_.front();
  if (config->admin.listen) {
    gateway->admin_ = std::make_unique<admin::Admin>(first, *gateway->store_.store, gateway->store_.reopening,
                                                     gateway->metrics_, config->admin.token);
    const Result<std::uint16_t> port = gateway->admin_->listen(*config->admin.listen);
    if (!port) return std::unexpected(port.error());
    gateway->admin_port_ = *port;
    gateway->admin_->start();
  }
  boost::asio::co_spawn(first.executor(), gateway->sweep(), boost::asio::detached);
  for (const auto& worker : gateway->workers_) worker->start();
  return gateway;
}

Gateway::~Gateway() {
  stop();
  wait();
}

Result<void> Gateway::reload(const std::shared_ptr<const config::Config>& config) {
  const Result<TlsSet> tls = load_tls(*config);
  if (!tls) return std::unexpected(tls.error());
  for (const auto& worker : workers_) worker->reload(config, *tls);
  if (!admin_) return {};
  boost::asio::post(workers_.front()->executor(),
                    [this, token = config->admin.token]() mutable { admin_->set_token(std::move(token)); });
  return {};
}

void Gateway::drain() {
  gate_.draining = true;
  if (admin_) boost::asio::post(workers_.front()->executor(), [this] { admin_->stop(); });
  for (const auto& worker : workers_) worker->drain();
}

void Gateway::stop() {
  for (const auto& worker : workers_) worker->stop();
}

void Gateway::wait() {
  for (const auto& worker : workers_) worker->join();
}

bool Gateway::ended() const {
  return std::ranges::all_of(workers_, [](const auto& worker) { return worker->ended(); });
}

// Deletes what has expired, a little at every tick.
Task<void> Gateway::sweep() {
  http::Ticker& ticker = workers_.front()->ticker();
  for (;;) {
    co_await ticker.next();
    if (gate_.draining) co_return;
    const Result<std::size_t> swept = co_await store_.store->sweep(sweep_limit);
    if (swept) metrics_.expired.fetch_add(*swept, std::memory_order_relaxed);
  }
}

}  // namespace semel::gateway
