// The store on Redis, as Semel's own programs open, prepare and look at it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/crypto.h"
#include "store/capable_store.h"
#include "store/redis/options.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

// `redis://…` A Redis or Valkey server that any number of processes share. The server must have been prepared
// (prepare_redis). What is lost in a crash or a failover depends on its settings: docs/redis.md
// has the table. What was lost is noticed when the store connects again.
//
// Tells time by the server's clock; `clock` measures how long an answer takes. While the server cannot be reached,
// claims end with Code::unavailable at once, and the ends of claims wait for it up to `time_max`. Destroy it like the
// embedded store.
// Code::unavailable: no server, or one that is refused (a replica, one that evicts keys, another fsync, too few
// replicas, not prepared); the message says which. Code::invalid: the address cannot be read, or gateways with
// encryption keys use the server.
//
// A server that is first used with `keys` gets an identity, and from then on opens only with one of them. One that was
// used without keys stays as it is.
Result<CapableStore> open_with_keys(Clock& clock, const RedisOptions& options, const std::vector<core::AesKey>& keys);

// Writes the marker by which gateways tell a prepared server from one that is empty or another. Returns false if it was
// there already. Do this once: a server that has lost its marker has lost keys, too. Blocks the thread.
// Code::unavailable: no server, or one that would be refused; says why. Code::invalid: the address cannot be read.
Result<bool> prepare_redis(Clock& clock, const RedisOptions& options);

// Whether its keys are stored under plain hashes.
Result<bool> has_plain_names(Clock& clock, const RedisOptions& options);

// What the set-up promises, one sentence each, and what an operator should know. An error: it would be refused.
struct RedisReport {
  std::vector<std::string> promises;
  std::uint64_t memory_max = 0;  // 0: no limit
};
Result<RedisReport> inspect_redis(Clock& clock, const RedisOptions& options);

// Accepts the losses for which gateways with on_loss = "stop" have stopped, and returns them, a line each.
Result<std::string> accept_redis_losses(Clock& clock, const RedisOptions& options);

}  // namespace semel::store::redis
