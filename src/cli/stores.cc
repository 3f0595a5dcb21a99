// Opens the store that the configuration names, with encryption if there are keys; and finds what to warn about.
#include "cli/stores.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"
#include "core/check.h"
#include "core/crypto.h"
#include "policy/reply.h"
#include "reading/secret.h"
#include "store/capable_store.h"
#include "store/embedded/identity_file.h"
#include "store/embedded/store.h"
#include "store/memory.h"
#include "store/redis/admin.h"
#include "store/redis/options.h"
#include "store/sealed_store.h"
#include "telemetry/metrics.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/stores.h>
#ifdef SEMEL_HAS_POSTGRES
#include "store/postgres/admin.h"
#endif

namespace semel::cli {

bool is_redis(config::StoreKind kind) {
  return kind == config::StoreKind::redis || kind == config::StoreKind::redis_cluster;
}

bool has_store(config::StoreKind kind) {
#ifdef SEMEL_HAS_POSTGRES
  if (kind == config::StoreKind::postgres) return true;
#endif
  return kind == config::StoreKind::embedded || kind == config::StoreKind::memory || is_redis(kind);
}

namespace {

constexpr const char* plain_names =
    "keys and scopes are stored under plain hashes, as they were before there were encryption_keys; for keyed hashes "
    "start with a new folder or database when the longest ttl has passed (docs/operating.md)";

// Told at once, and not only counted: somebody has to look at the keys of that time.
void report_loss(const store::redis::RedisLoss& loss, telemetry::StoreMetrics& metrics) {
  metrics.lost_calls.fetch_add(loss.calls, std::memory_order_relaxed);
  fmt::print(stderr, "semel: store: Redis has lost {}{} acknowledged call(s) since {}; their keys may run again\n",
             loss.more ? "at least " : "", loss.calls, policy::rfc3339(loss.since));
}

// Keys live by that clock (docs/redis.md, "Clocks").
void report_jump(Millis jump) {
  const bool forward = jump > Millis{0};
  fmt::print(
      stderr, "semel: store: the clock of Redis has gone {} by {} s: {}\n", forward ? "forward" : "back",
      std::chrono::duration_cast<std::chrono::seconds>(forward ? jump : -jump).count(),
      forward ? "keys expire earlier by that, and may run again" : "keys are kept, or in flight, longer by that");
}

Result<store::CapableStore> open_inner(const config::Config& config, Clock& clock,
                                       const std::shared_ptr<telemetry::StoreMetrics>& metrics,
                                       const std::vector<core::AesKey>& keys) {
  const config::StoreConfig& store = config.store;
  if (store.kind == config::StoreKind::memory) {  // it keeps nothing on disk
    return store::make_capable_memory_store(clock);
  }
  const auto count = [metrics](std::size_t writes, std::chrono::nanoseconds took) {
    metrics->batch_writes.add(static_cast<double>(writes));
    metrics->sync_seconds.add(std::chrono::duration<double>(took).count());
  };
  if (is_redis(store.kind)) {
    store::redis::RedisOptions options = redis_options(config);
    options.on_commit = count;
    options.on_lost = [metrics](const store::redis::RedisLoss& loss) { report_loss(loss, *metrics); };
    options.on_jump = report_jump;
    return store::redis::open_with_keys(clock, options, keys);
  }
#ifdef SEMEL_HAS_POSTGRES
  if (store.kind == config::StoreKind::postgres) {
    PostgresOptions options;
    for (const reading::Secret& url : store.urls) options.urls.push_back(url.reveal());
    options.time_max = config.limits.store_timeout;
    options.state_folder = store.state_folder;
    options.on_commit = count;
    return store::postgres::open_with_keys(clock, options, keys, config.inbox.node_beat);
  }
#endif
  return store::embedded::open_with_keys(clock,
                                         {.path = std::string(config::embedded_path(store)),
                                          .free_bytes_min = store.free_bytes_min,
                                          .cache_bytes = static_cast<std::size_t>(store.cache_bytes),
                                          .on_commit = count},
                                         keys);
}

std::vector<core::AesKey> keys_of(const config::StoreConfig& store) {
  std::vector<core::AesKey> keys;
  for (const reading::Secret& secret : store.encryption_keys) {
    core::AesKey& key = keys.emplace_back();
    core::check(secret.reveal().size() == key.size(), "the configuration takes keys of 32 bytes only");
    std::ranges::copy(secret.reveal(), key.begin());
  }
  return keys;
}

// Whether there are encryption keys, and a store that was made without.
bool is_older_than_its_keys(const config::Config& config, Clock& clock) {
  const config::StoreConfig& store = config.store;
  if (store.encryption_keys.empty() || store.kind == config::StoreKind::memory) return false;
  if (is_redis(store.kind)) {
    return store::redis::has_plain_names(clock, redis_options(config)).value_or(false);
  }
#ifdef SEMEL_HAS_POSTGRES
  if (store.kind == config::StoreKind::postgres) {
    return store::postgres::has_plain_names(clock, store.urls.front().reveal())
        .value_or(false);  // all shards are alike
  }
#endif
  return store::embedded::has_plain_names(std::filesystem::path(config::embedded_path(store)));
}

}  // namespace

Result<store::CapableStore> open_store(const config::Config& config, Clock& clock,
                                       const std::shared_ptr<telemetry::StoreMetrics>& metrics) {
  const std::vector<core::AesKey> keys = keys_of(config.store);
  Result<store::CapableStore> store = open_inner(config, clock, metrics, keys);
  if (!store || keys.empty()) return store;
  const store::Unsealed unsealed = config.store.read_unencrypted ? store::Unsealed::accepted : store::Unsealed::refused;
  return store::make_sealed_store(*std::move(store), keys, unsealed);
}

store::redis::RedisOptions redis_options(const config::Config& config) {
  store::redis::RedisOptions options;
  options.url = config.store.urls.front().reveal();
  options.time_max = config.limits.store_timeout;
  options.replicas = config.store.replicas;
  options.fsync = config.store.fsync;
  options.on_loss = config.store.on_loss;
  return options;
}

std::vector<std::string> concerns(const config::Config& config, Clock& clock) {
  const config::StoreConfig& store = config.store;
  std::vector<std::string> all;
  if (is_older_than_its_keys(config, clock)) all.emplace_back(plain_names);
#ifdef SEMEL_HAS_POSTGRES
  for (const reading::Secret& url : store.urls) {
    if (store.kind != config::StoreKind::postgres) break;
    Result<std::vector<std::string>> found = store::postgres::inspect_postgres(clock, url.reveal());
    if (!found) {
      all.push_back(std::move(found.error().detail));
      continue;
    }
    for (std::string& danger : *found) all.push_back(std::move(danger));
  }
#endif
  return all;
}

}  // namespace semel::cli
