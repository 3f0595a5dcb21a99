// How the parts of a gateway start together and stop together.
#include "gateway/gateway.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "config/config.h"
#include "core/check.h"
#include "core/json/writer.h"
#include "core/sha256.h"
#include "gateway/ask_probe.h"
#include "gateway/bookkeeper.h"
#include "gateway/dispatcher.h"
#include "gateway/reminders.h"
#include "gateway/scribe.h"
#include "gateway/tls_set.h"
#include "gateway/worker.h"
#include "http/inherited.h"
#include "http/listener.h"
#include "http/session.h"
#include "http/ticker.h"
#include "policy/reply.h"
#include "reading/address.h"
#include "store/capable_store.h"
#include "store/history.h"
#include "telemetry/log_sink.h"
#include "telemetry/metrics.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/result.h>

namespace semel::gateway {
namespace {

constexpr std::size_t sweep_limit = 1'000;  // records a step, so that a sweep never holds up the requests
constexpr std::size_t beside_connections_max = 256;

// Names this process in what it writes. The seed itself stays here: owners of claims come from it.
std::uint64_t process_number(std::uint64_t seed) {
  const Digest digest = core::sha256_parts("semel process v1", {std::to_string(seed)});
  std::uint64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof(number));
  return number;
}

std::string unread_line(const std::string& what, Time now) {
  std::string line;
  core::json::JsonWriter json(line);
  json.begin_object().bytes("time", policy::rfc3339(now)).bytes("level", "error").bytes("event", "inbox_unreadable");
  json.bytes("detail", what).end_object();
  return line + "\n";
}

}  // namespace

Gateway::Gateway(store::CapableStore store, telemetry::LogSink& log,
                 std::shared_ptr<const telemetry::StoreMetrics> store_metrics, Clock& clock, std::uint64_t seed,
                 std::size_t waiters_max)
    : metrics_(std::move(store_metrics), &log),
      companies_(seed),
      once_(*store.store, clock, seed, waiters_max, store.endings),
      books_(clock, process_number(seed)),
      store_(std::move(store)) {
  if (store_.history != nullptr) writers_.reminders = std::make_unique<Reminders>(*store_.history, store_.desk, clock);
  if (store_.inbox == nullptr) return;
  store_.inbox->tell_unread([&metrics = metrics_.webhooks.inbox, &log, &clock](const std::string& what) {
    metrics.unreadable.fetch_add(1, std::memory_order_relaxed);
    log.write(unread_line(what, clock.wall()));
  });
  dispatcher_ = std::make_unique<Dispatcher>(*store_.inbox, *store_.inbox_desk, clock, metrics_.webhooks.inbox, seed);
  if (store_.inbox_jobs != nullptr) dispatcher_->add_jobs(*store_.inbox_jobs);
}

Result<std::unique_ptr<Gateway>> Gateway::open(const std::shared_ptr<const config::Config>& config,
                                               store::CapableStore store, Clock& clock, telemetry::LogSink& log,
                                               std::uint64_t seed,
                                               std::shared_ptr<const telemetry::StoreMetrics> store_metrics,
                                               http::Inherited inherited) {
  Result<TlsSet> tls = load_tls(*config);
  if (!tls) return std::unexpected(tls.error());
  std::unique_ptr<Gateway> gateway(
      new Gateway(std::move(store), log, std::move(store_metrics), clock, seed, config->limits.waiters));
  gateway->door_.inherited = std::move(inherited);
  gateway->door_.gate.connections_max = config->limits.connections;
  gateway->door_.gate.per_address_max = config->limits.connections_per_ip;
  const Shared shared{.clock = clock,
                      .once = gateway->once_,
                      .metrics = gateway->metrics_,
                      .witness = gateway->witness_,
                      .log = log,
                      .books = gateway->books_,
                      .gate = gateway->door_.gate,
                      .quotas = gateway->allowances_.quotas,
                      .limiters = gateway->allowances_.limiters,
                      .companies = gateway->companies_,
                      .glance = gateway->store_.glance,
                      .inherited = gateway->door_.inherited,
                      .dispatcher = gateway->dispatcher_.get(),
                      .lookup = gateway->store_.lookup,
                      .reminders = gateway->writers_.reminders.get()};
  const std::size_t threads =
      config->server.threads != 0 ? config->server.threads : std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < threads; ++i) {
    gateway->workers_.push_back(std::make_unique<Worker>(shared, config, *tls));
  }
  core::check(!gateway->workers_.empty(), "a gateway has a thread");
  gateway->witness_.certificates.set(expiries_of(*tls, *config));
  if (gateway->store_.changes != nullptr) {
    gateway->store_.changes->watch([&workers = gateway->workers_](const Digest* id) {
      for (const auto& worker : workers) worker->forget(id);
    });
  }
  if (store::History* const history = gateway->store_.history; history != nullptr) {
    gateway->writers_.scribe = std::make_unique<Scribe>(*history, gateway->store_.desk, clock, node_name());
    for (const auto& worker : gateway->workers_) gateway->writers_.scribe->follow(worker->keep_sightings());
    if (gateway->dispatcher_ != nullptr) gateway->dispatcher_->note_attempts(gateway->writers_.scribe->attempts());
  }
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
  gateway->door_.port = *port;
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
  const auto socket = door_.inherited.copy_of(endpoint.port);
  auto listener = socket ? http::Listener::adopt(first.executor(), first.ticker(), *socket, beside->gate)
                         : http::Listener::open(first.executor(), first.ticker(), endpoint.host, endpoint.port,
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
  books_.start(store_.history);
  if (dispatcher_ != nullptr) {
    boost::asio::co_spawn(workers_.front()->executor(), dispatcher_->run(), boost::asio::detached);
  }
  for (const auto& worker : workers_) worker->start();
  if (writers_.scribe != nullptr) writers_.scribe->start();
}

Gateway::~Gateway() {
  stop();
  wait();
  books_.finish();
  for (const auto& beside : beside_) beside->listener.reset();  // before the event loop that it is on
}

Result<void> Gateway::reload(const std::shared_ptr<const config::Config>& config) {
  const Result<TlsSet> tls = load_tls(*config);
  if (!tls) return std::unexpected(tls.error());
  if (door_.port == 0 && !(config->routes.empty() && config->webhooks.empty())) {
    return fail(Code::invalid,
                "there was no [[route]] and no [[webhook]] at the start, so nothing listens for their "
                "clients; start again");
  }
  witness_.certificates.set(expiries_of(*tls, *config));
  for (const auto& worker : workers_) worker->reload(config, *tls);
  if (dispatcher_ != nullptr) dispatcher_->configure(config);
  return {};
}

Task<void> Gateway::forget(Key key) {
  // What the store names otherwise cannot be told by its name here, so everything is forgotten; acts are rare.
  const bool renamed = store_.desk != nullptr && store_.desk->named(key) != key;
  for (const auto& worker : workers_) {
    const Digest* const which = renamed ? nullptr : &key.id;
    co_await boost::asio::co_spawn(worker->executor(), worker->forgotten(which),
                                   boost::asio::use_awaitable_t<Executor>());
  }
}

Task<Result<Outcome>> Gateway::ask_target(ProbeTarget asked) {
  Worker& first = *workers_.front();
  // The plan is asked for there, since only that thread may.
  const auto there = [](Worker* worker, ProbeTarget target) -> Task<Result<Outcome>> {
    co_return co_await gateway::ask_target(worker->plan(), std::move(target));
  };
  co_return co_await boost::asio::co_spawn(first.executor(), there(&first, std::move(asked)),
                                           boost::asio::use_awaitable_t<Executor>());
}

void Gateway::drain() {
  door_.gate.draining = true;
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
  if (writers_.scribe != nullptr) writers_.scribe->end();
}

bool Gateway::ended() const {
  return std::ranges::all_of(workers_, [](const auto& worker) { return worker->ended(); });
}

// Deletes what has expired, a little at every tick.
Task<void> Gateway::sweep() {
  http::Ticker& ticker = workers_.front()->ticker();
  for (;;) {
    co_await ticker.next();
    if (door_.gate.draining) co_return;
    const Result<std::size_t> swept = co_await store_.store->sweep(sweep_limit);
    if (swept) metrics_.expired.fetch_add(*swept, std::memory_order_relaxed);
  }
}

}  // namespace semel::gateway
