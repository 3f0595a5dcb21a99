// Slots of time by scope, in shards so that threads seldom wait for each other.
#include "gateway/quotas.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <optional>

#include "config/config.h"
#include "core/check.h"
#include "policy/token_bucket.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/problem.h>

namespace semel::gateway {
namespace {

constexpr std::size_t scopes_max = 16'384;  // of each shard; beyond it nobody new is counted
constexpr Millis look_again{10'000};
constexpr int slots_per_ttl = 64;
constexpr Millis slot_min{1'000};
constexpr Millis retry_after_min{1'000};

}  // namespace

std::optional<Quotas::Refusal> Quotas::refusal_when_full(const Usage& usage, const config::LimitsConfig& limits,
                                                         Time now) {
  const bool full = (limits.keys_per_scope != 0 && usage.keys >= limits.keys_per_scope) ||
                    (limits.stored_bytes_per_scope != 0 && usage.bytes >= limits.stored_bytes_per_scope);
  if (!full) return std::nullopt;
  const Millis wait = usage.slots.empty() ? retry_after_min : std::max(retry_after_min, usage.slots.front().end - now);
  return Refusal{.problem = ProblemType::quota_exceeded, .retry_after = wait};
}

std::optional<Quotas::Refusal> Quotas::refusal(const ScopeDigest& scope, const config::LimitsConfig& limits, Time now) {
  Shard& shard = shard_of(scope);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.scopes.find(scope);
  if (found == shard.scopes.end()) return std::nullopt;
  drop_expired(found->second, now);
  if (const auto full = refusal_when_full(found->second, limits, now)) return full;
  if (!limits.claims_per_scope) return std::nullopt;
  policy::TokenBucket claims = found->second.claims;
  const auto wait = claims.take(*limits.claims_per_scope, now);
  if (!wait) return std::nullopt;
  return Refusal{.problem = ProblemType::rate_limited, .retry_after = std::max(retry_after_min, *wait)};
}

std::optional<Quotas::Refusal> Quotas::admit(const ScopeDigest& scope, const config::LimitsConfig& limits, Time now,
                                             Time expires_at, Millis ttl) {
  if (!wanted(limits)) return std::nullopt;
  Shard& shard = shard_of(scope);
  const std::scoped_lock lock(shard.mutex);
  if (shard.scopes.size() >= scopes_max && !shard.scopes.contains(scope)) {
    if (now >= shard.looked_at + look_again) make_room(shard, limits, now);
    if (shard.scopes.size() >= scopes_max) return std::nullopt;
  }
  Usage& usage = shard.scopes[scope];
  drop_expired(usage, now);
  if (const auto full = refusal_when_full(usage, limits, now)) return full;
  if (limits.claims_per_scope) {
    const auto wait = usage.claims.take(*limits.claims_per_scope, now);
    if (wait) return Refusal{.problem = ProblemType::rate_limited, .retry_after = std::max(retry_after_min, *wait)};
  }
  ++slot_of(usage, expires_at, ttl).keys;
  ++usage.keys;
  return std::nullopt;
}

void Quotas::give_back(const ScopeDigest& scope, Time expires_at, Millis ttl) {
  Shard& shard = shard_of(scope);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.scopes.find(scope);
  if (found == shard.scopes.end()) return;
  Slot& slot = slot_of(found->second, expires_at, ttl);
  if (slot.keys == 0) return;  // the limits came with a reload, after this key
  core::check(found->second.keys > 0, "a scope's usage is the sum of its slots");
  --slot.keys;
  --found->second.keys;
}

bool Quotas::proven(const ScopeDigest& scope) {
  Shard& shard = shard_of(scope);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.scopes.find(scope);
  return found != shard.scopes.end() && found->second.proven;
}

void Quotas::prove(const ScopeDigest& scope) {
  Shard& shard = shard_of(scope);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.scopes.find(scope);
  if (found != shard.scopes.end()) found->second.proven = true;
}

void Quotas::keep(const ScopeDigest& scope, Time expires_at, Millis ttl, std::size_t bytes) {
  Shard& shard = shard_of(scope);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.scopes.find(scope);
  if (found == shard.scopes.end()) return;
  slot_of(found->second, expires_at, ttl).bytes += bytes;
  found->second.bytes += bytes;
}

void Quotas::drop_expired(Usage& usage, Time now) {
  const auto live = std::ranges::find_if(usage.slots, [&](const Slot& slot) { return slot.end > now; });
  for (auto slot = usage.slots.begin(); slot != live; ++slot) {
    core::check(usage.keys >= slot->keys && usage.bytes >= slot->bytes, "a scope's usage is the sum of its slots");
    usage.keys -= slot->keys;
    usage.bytes -= slot->bytes;
  }
  usage.slots.erase(usage.slots.begin(), live);
}

Quotas::Slot& Quotas::slot_of(Usage& usage, Time expires_at, Millis ttl) {
  const Millis width = std::max(slot_min, ttl / slots_per_ttl);
  const Millis since = expires_at.time_since_epoch();
  const Time end{((since + width - Millis{1}) / width) * width};
  const auto place = std::ranges::lower_bound(usage.slots, end, {}, &Slot::end);
  if (place != usage.slots.end() && place->end == end) return *place;
  return *usage.slots.insert(place, Slot{.end = end});
}

// Forgets scopes of which nothing is left to know.
void Quotas::make_room(Shard& shard, const config::LimitsConfig& limits, Time now) {
  shard.looked_at = now;
  for (auto at = shard.scopes.begin(); at != shard.scopes.end();) {
    Usage& usage = at->second;
    drop_expired(usage, now);
    const bool rested = !limits.claims_per_scope || usage.claims.is_full(*limits.claims_per_scope, now);
    at = usage.slots.empty() && rested ? shard.scopes.erase(at) : std::next(at);
  }
}

}  // namespace semel::gateway
