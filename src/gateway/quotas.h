// How much of the store each scope may use: live keys, stored bytes, and new keys in a span of time.
//
// Counted by this process, from its start, and only for scopes that send requests; a key counts from its claim until it
// expires. Time is kept in slots, so a key stops counting up to a 64th of its ttl after it has expired, never before.
// Shared by all threads. Only claims that were granted come here: whoever asks for a key that is there already is
// answered whatever the counts say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "config/config.h"
#include "policy/token_bucket.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/problem.h>

namespace semel::gateway {

class Quotas {
 public:
  struct Refusal {
    ProblemType problem = ProblemType::quota_exceeded;
    Millis retry_after{0};
  };

  // Whether there is anything to count.
  static bool wanted(const config::LimitsConfig& limits) {
    return limits.keys_per_scope != 0 || limits.stored_bytes_per_scope != 0 || limits.claims_per_scope;
  }

  // Whether a new key of `scope` would be refused now. Counts nothing.
  std::optional<Refusal> refusal(const ScopeDigest& scope, const config::LimitsConfig& limits, Time now);
  // A new key of `scope` that will live until `expires_at`. Nothing: it may run, and counts. Otherwise it must not.
  std::optional<Refusal> admit(const ScopeDigest& scope, const config::LimitsConfig& limits, Time now, Time expires_at,
                               Millis ttl);
  // What admit() let in was released, with the same times: it counts no more.
  void give_back(const ScopeDigest& scope, Time expires_at, Millis ttl);
  // Whether a request of the scope has succeeded before. Anybody can make up a scope: until it has, its keys count for
  // the address, too.
  bool proven(const ScopeDigest& scope);
  void prove(const ScopeDigest& scope);
  // It is kept with an answer of this size.
  void keep(const ScopeDigest& scope, Time expires_at, Millis ttl, std::size_t bytes);

 private:
  struct Slot {
    Time end;
    std::uint64_t keys = 0;
    std::uint64_t bytes = 0;
  };
  struct Usage {
    policy::TokenBucket claims;
    std::vector<Slot> slots;  // by end
    std::uint64_t keys = 0;   // of all slots
    std::uint64_t bytes = 0;
    bool proven = false;
  };
  struct Shard {
    std::mutex mutex;
    std::map<ScopeDigest, Usage> scopes;
    Time looked_at{};  // for scopes to forget
  };

  static std::optional<Refusal> refusal_when_full(const Usage& usage, const config::LimitsConfig& limits, Time now);
  static void drop_expired(Usage& usage, Time now);
  static Slot& slot_of(Usage& usage, Time expires_at, Millis ttl);
  static void make_room(Shard& shard, const config::LimitsConfig& limits, Time now);
  Shard& shard_of(const ScopeDigest& scope) { return shards_.at(scope.front() % shards_.size()); }

  std::array<Shard, 16> shards_;
};

}  // namespace semel::gateway
