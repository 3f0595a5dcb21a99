#include "gateway/replay_cache.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "core/check.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::gateway {
namespace {

constexpr Millis trusted_for{30'000};
constexpr std::size_t entry_overhead_bytes = 512;  // the list, the map, short strings

std::size_t cost(const Response& response) {
  std::size_t bytes = entry_overhead_bytes + response.body.size();
  for (const Field& field : response.fields) bytes += sizeof(Field) + field.name.size() + field.value.size();
  return bytes;
}

}  // namespace

const ReplayCache::Entry* ReplayCache::find(const Key& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  const Entries::iterator entry = found->second;
  const Time now = clock_.now();
  if (now >= entry->expires_at || now >= entry->trusted_until) {
    drop(entry);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return &*entry;
}

void ReplayCache::put(const Key& key, const Fingerprint& fingerprint, SharedResponse response, Fence fence,
                      Time expires_at) {
  if (const auto old = by_key_.find(key); old != by_key_.end()) drop(old->second);
  const std::size_t size = cost(*response);
  if (size > bytes_max_ / 4) return;
  while (bytes_ + size > bytes_max_) {
    core::check(!entries_.empty(), "an empty cache has room for a quarter of itself");
    drop(std::prev(entries_.end()));
  }
  bytes_ += size;
  entries_.push_front({.key = key,
                       .fingerprint = fingerprint,
                       .response = std::move(response),
                       .fence = fence,
                       .expires_at = expires_at,
                       .trusted_until = clock_.now() + trusted_for,
                       .bytes = size});
  by_key_.emplace(key, entries_.begin());
}

void ReplayCache::drop(Entries::iterator entry) {
  core::check(bytes_ >= entry->bytes, "the cache's bytes are the sum of its entries'");
  bytes_ -= entry->bytes;
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

}  // namespace semel::gateway
