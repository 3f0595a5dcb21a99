// Which driver a bucket belongs to is worked out anew when the map of the cluster has changed, or a driver is retired.
#include "store/redis/fleet.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include "core/redis_url.h"
#include "store/call.h"
#include "store/redis/batch.h"
#include "store/redis/cluster_map.h"
#include "store/redis/driver.h"
#include "store/redis/losses.h"
#include "store/waiting.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::redis {

RedisFleet::Ship::Ship(const Clock& clock, const RedisDriverOptions& options, LossDesk& losses,
                       RedisDriver::Elsewhere elsewhere)
    : home(options.plan.bucket), listener(clock, options.plan), driver(clock, options, losses, std::move(elsewhere)) {}

RedisFleet::RedisFleet(const Clock& clock, RedisDriverOptions options)
    : clock_(clock), options_(std::move(options)), losses_(clock, options_.plan, options_.on_loss, options_.on_lost) {}

// Drivers hand calls to each other, so all stop before any is gone.
RedisFleet::~RedisFleet() {
  for (int twice = 0; twice < 2; ++twice) {  // the second time for what one has handed to another in between
    for (const auto& ship : ships_) ship->driver.stop();
  }
}

RedisFleet::Ship& RedisFleet::build(std::size_t home) {
  RedisDriverOptions options = options_;
  options.plan.bucket = home;
  RedisDriver::Elsewhere elsewhere = [this](RedisEntry entry) { turn_away(std::move(entry)); };
  Ship& ship = *ships_.emplace_back(std::make_unique<Ship>(clock_, options, losses_, std::move(elsewhere)));
  if (ended_) ship.listener.watch(ended_);
  return ship;
}

Result<void> RedisFleet::start() {
  if (options_.plan.cluster == nullptr) {
    by_bucket_ = {&build(0)};
    return by_bucket_.front()->driver.start();
  }
  const std::unique_lock lock(mutex_);
  assign();
  for (const auto& ship : ships_) {
    Result<void> started = ship->driver.start();
    if (!started) return started;
  }
  return {};
}

RedisFleet::Ship* RedisFleet::find_ship(const std::string& place) {
  for (const auto& ship : ships_) {
    if (ship->driver.is_retired()) continue;
    const std::optional<core::RedisHost> owner = options_.plan.cluster->owner(options_.plan.buckets.slot(ship->home));
    if (owner && host_text(*owner) == place) return ship.get();
  }
  return nullptr;
}

// A primary without a driver gets one, at home in its last bucket: those who move slots begin with the first.
void RedisFleet::assign() {
  const ClusterMap& map = *options_.plan.cluster;
  version_ = map.version();
  for (const auto& ship : ships_) {
    if (ship->driver.is_retired()) left_.insert(ship->home);
  }
  by_bucket_.resize(options_.plan.buckets.count());
  std::map<std::string, std::vector<std::size_t>> places;
  for (std::size_t bucket = by_bucket_.size(); bucket-- > 0;) {
    const std::optional<core::RedisHost> owner = map.owner(options_.plan.buckets.slot(bucket));
    if (owner) places[host_text(*owner)].push_back(bucket);
  }
  for (const auto& [place, buckets] : places) {
    Ship* ship = find_ship(place);
    if (ship == nullptr) {
      const auto fresh = std::ranges::find_if(buckets, [&](std::size_t each) { return !left_.contains(each); });
      ship = &build(fresh == buckets.end() ? buckets.front() : *fresh);
    }
    for (const std::size_t bucket : buckets) by_bucket_[bucket] = ship;
  }
  const auto serves = std::ranges::find_if(ships_, [](const auto& ship) { return !ship->driver.is_retired(); });
  for (Ship*& ship : by_bucket_) {  // of slots that nobody has: any server says so
    const bool gone = ship == nullptr || ship->driver.is_retired();
    if (gone && serves != ships_.end()) ship = serves->get();
  }
}

RedisFleet::Ship& RedisFleet::ship_of(std::size_t bucket) {
  if (options_.plan.cluster == nullptr) return *by_bucket_.front();
  {
    const std::shared_lock lock(mutex_);
    Ship* const ship = by_bucket_[bucket];
    if (options_.plan.cluster->version() == version_ && !ship->driver.is_retired()) return *ship;
  }
  const std::unique_lock lock(mutex_);
  const std::size_t before = ships_.size();
  assign();
  for (std::size_t i = before; i < ships_.size(); ++i) ships_[i]->driver.start_later();
  return *by_bucket_[bucket];
}

void RedisFleet::send(RedisEntry entry) {
  ship_of(entry.bucket).driver.add(std::move(entry));
}

// Called by a driver whose server has sent the call away, or that is retired.
void RedisFleet::turn_away(RedisEntry entry) {
  const std::optional<Redirection> to = std::exchange(entry.detour, std::nullopt);
  entry.asking = false;
  if (to && !to->asking) options_.plan.cluster->move(*to);
  if (to && to->asking) {
    const std::shared_lock lock(mutex_);
    Ship* const target = find_ship(host_text(to->host));
    entry.asking = target != nullptr;
    if (target != nullptr) return target->driver.add(std::move(entry));
  }
  send(std::move(entry));
}

Task<void> RedisFleet::submit(StoreCall& call) {
  auto start = [this, &call](AnswerHandler handler) {
    boost::asio::executor_work_guard<Executor> work(boost::asio::get_associated_executor(handler));
    RedisEntry entry{.waiting = std::make_unique<Waiting>(&call, std::move(handler), std::move(work)),
                     .deadline = clock_.now() + options_.time_max,
                     .bucket = options_.plan.buckets.of(call.key)};
    if (std::holds_alternative<AppendCall>(call.request)) entry.bucket = options_.plan.buckets.first();
    if (std::holds_alternative<SweepCall>(call.request)) entry.bucket = sweeping_++ % options_.plan.buckets.count();
    if (std::holds_alternative<ReopenCall>(call.request)) entry.token = random_token(3);
    send(std::move(entry));
  };
  return boost::asio::async_initiate<const AnswerToken&, void()>(std::move(start), AnswerToken{});
}

void RedisFleet::watch(std::function<void(const Digest&)> ended) {
  const std::unique_lock lock(mutex_);
  ended_ = std::move(ended);
  for (const auto& ship : ships_) ship->listener.watch(ended_);
}

void RedisFleet::expect(const Key& key) {
  const std::size_t bucket = options_.plan.buckets.of(key);
  ship_of(bucket).listener.expect(key.id, bucket);
}

}  // namespace semel::store::redis
