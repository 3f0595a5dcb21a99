#include "cli/stores.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/crypto.h"
#include "gateway/metrics.h"
#include "policy/config.h"
#include "policy/secret.h"
#include "store/sealed_store.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>
#ifdef SEMEL_HAS_POSTGRES
#include "store/postgres_admin.h"
#endif

namespace semel {

bool has_store(StoreKind kind) {
#ifdef SEMEL_HAS_POSTGRES
  if (kind == StoreKind::postgres) return true;
#endif
  return kind == StoreKind::embedded || kind == StoreKind::memory;
}

namespace {

Result<std::unique_ptr<Store>> open_plain(const Config& config, Clock& clock, std::shared_ptr<StoreMetrics> metrics) {
  const StoreConfig& store = config.store;
  if (store.kind == StoreKind::memory) return make_memory_store(clock);
  const auto count = [metrics = std::move(metrics)](std::size_t writes, std::chrono::nanoseconds took) {
    metrics->batch_writes.add(static_cast<double>(writes));
    metrics->sync_seconds.add(std::chrono::duration<double>(took).count());
  };
#ifdef SEMEL_HAS_POSTGRES
  if (store.kind == StoreKind::postgres) {
    PostgresOptions options;
    for (const Secret& url : store.urls) options.urls.push_back(url.reveal());
    options.time_max = config.limits.store_timeout;
    options.on_commit = count;
    return open_postgres_store(clock, options);
  }
#endif
  return open_embedded_store(clock, {.path = std::string(embedded_path(store)),
                                     .free_bytes_min = store.free_bytes_min,
                                     .cache_bytes = static_cast<std::size_t>(store.cache_bytes),
                                     .on_commit = count});
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const Config& config, Clock& clock, std::shared_ptr<StoreMetrics> metrics) {
  Result<std::unique_ptr<Store>> store = open_plain(config, clock, std::move(metrics));
  if (!store || config.store.encryption_keys.empty()) return store;
  std::vector<AesKey> keys;
  for (const Secret& secret : config.store.encryption_keys) {
    AesKey& key = keys.emplace_back();
    check(secret.reveal().size() == key.size(), "the configuration takes keys of 32 bytes only");
    std::ranges::copy(secret.reveal(), key.begin());
  }
  const Unsealed unsealed = config.store.read_unencrypted ? Unsealed::accepted : Unsealed::refused;
  return make_sealed_store(*std::move(store), keys, unsealed);
}

std::vector<std::string> concerns(const StoreConfig& store, Clock& clock) {
  std::vector<std::string> all;
#ifdef SEMEL_HAS_POSTGRES
  for (const Secret& url : store.urls) {
    if (store.kind != StoreKind::postgres) break;
    Result<std::vector<std::string>> found = inspect_postgres(clock, url.reveal());
    if (!found) {
      all.push_back(std::move(found.error().detail));
      continue;
    }
    for (std::string& danger : *found) all.push_back(std::move(danger));
  }
#else
  (void)store;
  (void)clock;
#endif
  return all;
}

}  // namespace semel
