#include "gateway/replay_cache.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>

#include "core/check.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

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
  if (clock_.now() >= entry->trusted_until) {
    drop(entry);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return &*entry;
}

void ReplayCache::put(const Key& key, const Fingerprint& fingerprint, const Replayed& answer,
                      std::chrono::nanoseconds asked) {
  remove(key);
  if (forgot_at_ && asked <= *forgot_at_) return;
  const Time now = clock_.now();
  const std::size_t size = cost(*answer.response);
  if (size > bytes_max_ / 4 || answer.holds_until <= now) return;
  while (bytes_ + size > bytes_max_) {
    core::check(!entries_.empty(), "an empty cache has room for a quarter of itself");
    drop(std::prev(entries_.end()));
  }
  bytes_ += size;
  entries_.push_front({.key = key,
                       .fingerprint = fingerprint,
                       .response = answer.response,
                       .fence = answer.fence,
                       .expires_at = answer.expires_at,
                       .trusted_until = std::min(answer.holds_until, now + trusted_for),
                       .bytes = size});
  by_key_.emplace(key, entries_.begin());
}

void ReplayCache::forget(const Key& key) {
  forgot_at_ = clock_.stopwatch();
  remove(key);
}

void ReplayCache::forget_all() {
  forgot_at_ = clock_.stopwatch();
  entries_.clear();
  by_key_.clear();
  bytes_ = 0;
}

void ReplayCache::remove(const Key& key) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) drop(found->second);
}

void ReplayCache::drop(Entries::iterator entry) {
  core::check(bytes_ >= entry->bytes, "the cache's bytes are the sum of its entries'");
  bytes_ -= entry->bytes;
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

}  // namespace semel::gateway
