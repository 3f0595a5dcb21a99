// Opens the store that the configuration names, behind encryption if there are keys; and what there is to warn of.
#include "cli/stores.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/crypto.h"
#include "gateway/metrics.h"
#include "policy/config.h"
#include "policy/secret.h"
#include "store/embedded.h"
#include "store/identity.h"
#include "store/identity_file.h"
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

constexpr const char* plain_names =
    "keys and scopes are stored under plain hashes, as they were before there were encryption_keys; for keyed ones "
    "take a new folder or database once the longest ttl is over (docs/operating.md)";

Result<OpenedStore> open_inner(const Config& config, Clock& clock, std::shared_ptr<StoreMetrics> metrics,
                               const std::vector<AesKey>& keys) {
  const StoreConfig& store = config.store;
  if (store.kind == StoreKind::memory) {  // nothing of it is at rest
    return OpenedStore{.store = make_memory_store(clock), .identity = std::nullopt};
  }
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
    return open_postgres_store(clock, options, keys);
  }
#endif
  return open_embedded_store(clock,
                             {.path = std::string(embedded_path(store)),
                              .free_bytes_min = store.free_bytes_min,
                              .cache_bytes = static_cast<std::size_t>(store.cache_bytes),
                              .on_commit = count},
                             keys);
}

std::vector<AesKey> keys_of(const StoreConfig& store) {
  std::vector<AesKey> keys;
  for (const Secret& secret : store.encryption_keys) {
    AesKey& key = keys.emplace_back();
    check(secret.reveal().size() == key.size(), "the configuration takes keys of 32 bytes only");
    std::ranges::copy(secret.reveal(), key.begin());
  }
  return keys;
}

// Whether there are encryption keys, and a store that was made without.
bool is_older_than_its_keys(const StoreConfig& store, Clock& clock) {
  if (store.encryption_keys.empty() || store.kind == StoreKind::memory) return false;
#ifdef SEMEL_HAS_POSTGRES
  if (store.kind == StoreKind::postgres) {
    return has_plain_names(clock, store.urls.front().reveal()).value_or(false);  // all shards are alike
  }
#else
  (void)clock;
#endif
  return has_plain_names(std::filesystem::path(embedded_path(store)));
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const Config& config, Clock& clock, std::shared_ptr<StoreMetrics> metrics) {
  const std::vector<AesKey> keys = keys_of(config.store);
  Result<OpenedStore> store = open_inner(config, clock, std::move(metrics), keys);
  if (!store) return std::unexpected(std::move(store.error()));
  if (keys.empty()) return std::move(store->store);
  const Unsealed unsealed = config.store.read_unencrypted ? Unsealed::accepted : Unsealed::refused;
  return make_sealed_store(*std::move(store), keys, unsealed);
}

std::vector<std::string> concerns(const StoreConfig& store, Clock& clock) {
  std::vector<std::string> all;
  if (is_older_than_its_keys(store, clock)) all.emplace_back(plain_names);
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
#endif
  return all;
}

}  // namespace semel
