// The Redis store: coroutines in front, one driver behind.
#include <algorithm>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/crypto.h"
#include "core/encoding.h"
#include "core/redis_url.h"
#include "store/batched_store.h"
#include "store/call.h"
#include "store/capable_store.h"
#include "store/identity.h"
#include "store/redis/admin.h"
#include "store/redis/connection.h"
#include "store/redis/desk.h"
#include "store/redis/dialer.h"
#include "store/redis/driver.h"
#include "store/redis/identity.h"
#include "store/redis/layout.h"
#include "store/redis/listener.h"
#include "store/redis/losses.h"
#include "store/redis/options.h"
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
      : BatchedStore(1), listener_(clock, options.plan), driver_(clock, options), desk_(clock, options.plan, driver_) {}

  Result<void> start() { return driver_.start(); }
  RedisDesk& desk() { return desk_; }

  void watch(std::function<void(const Digest&)> ended) override { listener_.watch(std::move(ended)); }
  void expect(const Key& key) override { listener_.expect(key.id); }

 private:
  Task<void> submit(StoreCall& call) override { return driver_.submit(call); }

  ChannelListener listener_;
  RedisDriver driver_;
  RedisDesk desk_;
};

Result<RedisPlan> plan_of(const RedisOptions& options) {
  Result<core::RedisUrl> url = core::parse_redis_url(options.url);
  if (!url) return fail(Code::invalid, "store.url: " + url.error().detail);
  if (url->setup == core::RedisUrl::Setup::cluster) {
    return fail(Code::invalid, "store.url: this version of Semel does not use a cluster");
  }
  return RedisPlan{.url = *std::move(url),
                   .demands = {.replicas = options.replicas, .fsync = options.fsync},
                   .marker = {},
                   .identity = {},
                   .time_max = std::min(options.time_max, dial_max)};
}

// For programs that look once.
Result<Admitted> visit(const Clock& clock, const RedisOptions& options) {
  const Result<RedisPlan> plan = plan_of(options);
  if (!plan) return std::unexpected(plan.error());
  return connect_admitted(clock, *plan);
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
                                  .on_lost = options.on_lost};
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
  const Result<Admitted> admitted = connect_admitted(clock, *plan);
  if (!admitted) return std::unexpected(admitted.error());
  const Result<void> known = recognise(admitted->facts, {});
  if (!known) return std::unexpected(known.error());
  return RedisReport{.promises = promises_of(admitted->facts, plan->demands), .memory_max = admitted->facts.memory_max};
}

Result<std::string> accept_redis_losses(Clock& clock, const RedisOptions& options) {
  Result<Admitted> admitted = visit(clock, options);
  if (!admitted) return std::unexpected(std::move(admitted.error()));
  return accept_losses(clock, admitted->connection, dial_max);
}

Result<bool> prepare_redis(Clock& clock, const RedisOptions& options) {
  Result<Admitted> admitted = visit(clock, options);
  if (!admitted) return std::unexpected(std::move(admitted.error()));
  const std::string marker = std::string(marker_format) + " " + core::to_hex(random_salt());
  const Result<RespValue> reply = admitted->connection.ask(clock, {"SET", marker_name, marker, "NX"}, dial_max);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error()) return std::unexpected(refusal_of(*reply));
  return reply->kind == RespValue::Kind::status;
}

}  // namespace semel::store::redis
