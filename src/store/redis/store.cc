// The Redis store: coroutines in front, drivers behind.
#include <algorithm>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/crypto.h"
#include "core/encoding.h"
#include "core/redis_url.h"
#include "store/batched_store.h"
#include "store/call.h"
#include "store/capable_store.h"
#include "store/identity.h"
#include "store/redis/admin.h"
#include "store/redis/asker.h"
#include "store/redis/buckets.h"
#include "store/redis/cluster_map.h"
#include "store/redis/desk.h"
#include "store/redis/driver.h"
#include "store/redis/fleet.h"
#include "store/redis/identity.h"
#include "store/redis/layout.h"
#include "store/redis/losses.h"
#include "store/redis/options.h"
#include "store/redis/plan.h"
#include "store/redis/primary.h"
#include "store/redis/resp.h"
#include "store/redis/server.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/endings.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

constexpr Millis dial_max{2'000};  // so that ending does not wait for long

class RedisStore : public BatchedStore, public Endings {
 public:
  RedisStore(const Clock& clock, const RedisDriverOptions& options)
      : BatchedStore(1), fleet_(clock, options), desk_(clock, options.plan, fleet_) {}

  Result<void> start() { return fleet_.start(); }
  RedisDesk& desk() { return desk_; }

  void watch(std::function<void(const Digest&)> ended) override { fleet_.watch(std::move(ended)); }
  void expect(const Key& key) override { fleet_.expect(key); }

 private:
  Task<void> submit(StoreCall& call) override { return fleet_.submit(call); }

  RedisFleet fleet_;
  RedisDesk desk_;
};

Result<RedisPlan> plan_of(const RedisOptions& options) {
  Result<core::RedisUrl> url = core::parse_redis_url(options.url);
  if (!url) return fail(Code::invalid, "store.url: " + url.error().detail);
  const bool cluster = url->setup == core::RedisUrl::Setup::cluster;
  RedisPlan plan{.url = *std::move(url),
                 .demands = {.replicas = options.replicas, .fsync = options.fsync, .cluster = cluster},
                 .marker = {},
                 .identity = {},
                 .time_max = std::min(options.time_max, dial_max)};
  plan.buckets = Buckets(plan.url.setup);
  plan.bucket = plan.buckets.first();
  if (cluster) plan.cluster = std::make_shared<ClusterMap>(plan.url.hosts);
  return plan;
}

// For programs that look once.
Result<Admitted> visit(const Clock& clock, const RedisOptions& options) {
  const Result<RedisPlan> plan = plan_of(options);
  if (!plan) return std::unexpected(plan.error());
  return connect_admitted(clock, *plan);
}

// The weakest of the two, where they differ.
void join(RedisFacts& all, const RedisFacts& one) {
  all.replicas = std::min(all.replicas, one.replicas);
  if (one.fsync != "always") all.fsync = one.fsync;
  all.memory_used += one.memory_used;
  all.memory_max = all.memory_max == 0 || one.memory_max == 0 ? 0 : all.memory_max + one.memory_max;
}

// What every primary is, as one.
Result<RedisFacts> survey(const Clock& clock, RedisPlan plan) {
  BucketAsker asker(clock, plan);
  const Result<std::vector<std::size_t>> primaries = asker.primaries();
  if (!primaries) return std::unexpected(primaries.error());
  std::optional<RedisFacts> all;
  for (const std::size_t bucket : *primaries) {
    plan.bucket = bucket;
    const Result<Admitted> admitted = connect_admitted(clock, plan);
    if (!admitted) return std::unexpected(admitted.error());
    const Result<void> known = recognise(admitted->facts, all ? all->marker : std::string());
    if (!known) return std::unexpected(known.error());
    if (all) {
      join(*all, admitted->facts);
    } else {
      all = admitted->facts;
    }
  }
  return core::present(all, "a cluster has primaries");
}

}  // namespace

Result<CapableStore> open_with_keys(Clock& clock, const RedisOptions& options, const std::vector<core::AesKey>& keys) {
  Result<RedisPlan> plan = plan_of(options);
  if (!plan) return std::unexpected(std::move(plan.error()));
  Result<Admitted> admitted = connect_admitted(clock, *plan);
  if (!admitted) return std::unexpected(std::move(admitted.error()));
  const Result<void> known = recognise(admitted->facts, {});
  if (!known) return std::unexpected(known.error());
  plan->marker = admitted->facts.marker;
  // Before the first connection that takes claims: each of those makes sure that the identity is still that one.
  Result<NamedBy> named = settle_names(clock, admitted->connection, keys, plan->time_max);
  if (!named) return std::unexpected(std::move(named.error()));
  plan->identity = named->name;
  const RedisDriverOptions driver{.plan = *std::move(plan),
                                  .time_max = options.time_max,
                                  .on_loss = options.on_loss,
                                  .on_commit = options.on_commit,
                                  .on_lost = options.on_lost,
                                  .on_jump = options.on_jump};
  auto store = std::make_unique<RedisStore>(clock, driver);
  const Result<void> started = store->start();
  if (!started) return std::unexpected(started.error());
  CapableStore opened;
  opened.endings = store.get();
  opened.reopening = store.get();
  opened.lookup = store.get();
  opened.desk = &store->desk();
  opened.audit = &store->desk();
  opened.store = std::move(store);
  opened.identity = named->identity;
  return opened;
}

Result<bool> has_plain_names(Clock& clock, const RedisOptions& options) {
  const Result<Admitted> admitted = visit(clock, options);
  if (!admitted) return std::unexpected(admitted.error());
  return admitted->facts.identity == plain_names;
}

Result<RedisReport> inspect_redis(Clock& clock, const RedisOptions& options) {
  const Result<RedisPlan> plan = plan_of(options);
  if (!plan) return std::unexpected(plan.error());
  const Result<RedisFacts> facts = survey(clock, *plan);
  if (!facts) return std::unexpected(facts.error());
  return RedisReport{.promises = promises_of(*facts, plan->demands), .memory_max = facts->memory_max};
}

Result<std::string> accept_redis_losses(Clock& clock, const RedisOptions& options) {
  const Result<RedisPlan> plan = plan_of(options);
  if (!plan) return std::unexpected(plan.error());
  BucketAsker asker(clock, *plan);
  return accept_losses(asker, plan->buckets.first());
}

// The marker of the first bucket says which store it is; the others are copies of it.
Result<bool> prepare_redis(Clock& clock, const RedisOptions& options) {
  const Result<RedisPlan> plan = plan_of(options);
  if (!plan) return std::unexpected(plan.error());
  BucketAsker asker(clock, *plan);
  if (const auto primaries = asker.primaries(); !primaries) return std::unexpected(primaries.error());
  std::string marker = std::string(marker_format) + " " + core::to_hex(random_salt());
  std::vector<BucketCommand> commands{{.bucket = plan->buckets.first(), .text = {}}};
  append_command(commands.front().text, {"SET", marker_name(), marker, "NX", "GET"});
  Result<std::vector<RespValue>> replies = asker.ask(commands);
  if (!replies) return std::unexpected(std::move(replies.error()));
  bool written = replies->front().kind == RespValue::Kind::nothing;
  if (!written) marker = replies->front().text;
  commands.clear();
  for (std::size_t bucket = 0; bucket < plan->buckets.count(); ++bucket) {
    if (bucket == plan->buckets.first()) continue;
    const std::string name = marker_name(plan->buckets.tag(bucket));
    append_command(commands.emplace_back(bucket).text, {"SET", name, marker, "NX", "GET"});
  }
  if (!commands.empty()) replies = asker.ask(commands);
  if (!replies) return std::unexpected(std::move(replies.error()));
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const RespValue& before = replies->at(i);
    if (before.kind == RespValue::Kind::nothing) written = true;
    if (before.kind == RespValue::Kind::text && before.text != marker) {
      return fail(Code::unavailable, "Redis is refused: a part of the cluster belongs to another store");
    }
  }
  return written;
}

}  // namespace semel::store::redis
