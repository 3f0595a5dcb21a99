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

#include "config/config.h"
#include "core/check.h"
#include "gateway/dispatcher.h"
#include "gateway/tls_set.h"
#include "gateway/worker.h"
#include "http/listener.h"
#include "http/session.h"
#include "http/ticker.h"
#include "reading/address.h"
#include "store/capable_store.h"
#include "telemetry/log_sink.h"
#include "telemetry/metrics.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::gateway {
namespace {

constexpr std::size_t sweep_limit = 1'000;  // records a step, so that a sweep never holds up the requests
constexpr std::size_t beside_connections_max = 256;

}  // namespace

Gateway::Gateway(store::CapableStore store, telemetry::LogSink& log,
                 std::shared_ptr<const telemetry::StoreMetrics> store_metrics, Clock& clock, std::uint64_t seed,
                 std::size_t waiters_max)
    : metrics_(std::move(store_metrics), &log),
      companies_(seed),
      once_(*store.store, clock, seed, waiters_max, store.endings),
      store_(std::move(store)) {
  if (store_.inbox == nullptr) return;
  dispatcher_ = std::make_unique<Dispatcher>(*store_.inbox, *store_.inbox_desk, clock, metrics_.webhooks.inbox, seed);
}

Result<std::unique_ptr<Gateway>> Gateway::open(const std::shared_ptr<const config::Config>& config,
                                               store::CapableStore store, Clock& clock, telemetry::LogSink& log,
                                               std::uint64_t seed,
                                               std::shared_ptr<const telemetry::StoreMetrics> store_metrics) {
  Result<TlsSet> tls = load_tls(*config);
  if (!tls) return std::unexpected(tls.error());
  std::unique_ptr<Gateway> gateway(
      new Gateway(std::move(store), log, std::move(store_metrics), clock, seed, config->limits.waiters));
  gateway->gate_.connections_max = config->limits.connections;
  gateway->gate_.per_address_max = config->limits.connections_per_ip;
  const Shared shared{.clock = clock,
                      .once = gateway->once_,
                      .metrics = gateway->metrics_,
                      .sightings = gateway->sightings_,
                      .log = log,
                      .gate = gateway->gate_,
                      .quotas = gateway->quotas_,
                      .limiters = gateway->limiters_,
                      .companies = gateway->companies_,
                      .glance = gateway->store_.glance,
                      .dispatcher = gateway->dispatcher_.get()};
  const std::size_t threads =
      config->server.threads != 0 ? config->server.threads : std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < threads; ++i) {
    gateway->workers_.push_back(std::make_unique<Worker>(shared, config, *tls));
  }
  core::check(!gateway->workers_.empty(), "a gateway has a thread");
  if (gateway->dispatcher_ != nullptr) {
    for (const auto& worker : gateway->workers_) {
      gateway->dispatcher_->add_worker(worker->executor(), [&each = *worker] { return each.plan(); });
    }
    gateway->dispatcher_->configure(config);
  }
  if (config->routes.empty() && config->webhooks.empty()) return gateway;  // nothing would be there for clients
  const auto listen = [&](Worker& worker, const reading::Endpoint& at, http::Sharing sharing) {
    return worker.listen(at, sharing, *tls);
  };
  const Result<std::uint16_t> port = gateway->listen_on_all(config->server.listen, listen);
  if (!port) return std::unexpected(port.error());
  gateway->port_ = *port;
  return gateway;
}

template <class Listen>
Result<std::uint16_t> Gateway::listen_on_all(reading::Endpoint endpoint, Listen listen) {
  for (const auto& worker : workers_) {
    // The first looks whether the address is free, or another gateway would get half of our requests.
    Result<std::uint16_t> port = endpoint.port;
    if (worker == workers_.front()) port = listen(*worker, endpoint, http::Sharing::alone);
    if (port) endpoint.port = *port;  // if the system chose it for the first, the others share it
    if (port && workers_.size() > 1) port = listen(*worker, endpoint, http::Sharing::shared);
    if (!port) return std::unexpected(port.error());
  }
  return endpoint.port;
}

Result<std::uint16_t> Gateway::listen_for_api(const reading::Endpoint& endpoint, const MakeHandler& make) {
  const Result<TlsSet> tls = load_tls(*workers_.front()->plan()->config);
  if (!tls) return std::unexpected(tls.error());
  return listen_on_all(endpoint, [&](Worker& worker, const reading::Endpoint& at, http::Sharing sharing) {
    return worker.listen_for_api(at, sharing, *tls, make);
  });
}

Result<std::uint16_t> Gateway::listen_beside(const reading::Endpoint& endpoint,
                                             std::unique_ptr<http::RequestHandler> handler) {
  Worker& first = *workers_.front();
  auto beside = std::make_unique<Beside>();
  beside->gate.connections_max = beside_connections_max;
  beside->handler = std::move(handler);
  auto listener = http::Listener::open(first.executor(), first.ticker(), endpoint.host, endpoint.port,
                                       http::Sharing::alone, beside->gate);
  if (!listener) return std::unexpected(listener.error());
  beside->listener = *std::move(listener);
  const std::uint16_t port = beside->listener->port();
  beside_.push_back(std::move(beside));
  return port;
}

void Gateway::start() {
  for (const auto& beside : beside_) beside->listener->start(*beside->handler, {});
  boost::asio::co_spawn(workers_.front()->executor(), sweep(), boost::asio::detached);
  if (dispatcher_ != nullptr) {
    boost::asio::co_spawn(workers_.front()->executor(), dispatcher_->run(), boost::asio::detached);
  }
  for (const auto& worker : workers_) worker->start();
}

Gateway::~Gateway() {
  stop();
  wait();
  for (const auto& beside : beside_) beside->listener.reset();  // before the event loop that it is on
}

Result<void> Gateway::reload(const std::shared_ptr<const config::Config>& config) {
  const Result<TlsSet> tls = load_tls(*config);
  if (!tls) return std::unexpected(tls.error());
  if (port_ == 0 && !(config->routes.empty() && config->webhooks.empty())) {
    return fail(Code::invalid,
                "there was no [[route]] and no [[webhook]] at the start, so nothing listens for their "
                "clients; start again");
  }
  for (const auto& worker : workers_) worker->reload(config, *tls);
  if (dispatcher_ != nullptr) dispatcher_->configure(config);
  return {};
}

void Gateway::forget(const Key& key) {
  for (const auto& worker : workers_) worker->forget(key);
}

void Gateway::drain() {
  gate_.draining = true;
  if (dispatcher_ != nullptr) dispatcher_->drain();
  boost::asio::post(workers_.front()->executor(), [this] {
    for (const auto& beside : beside_) beside->listener->stop();
  });
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
