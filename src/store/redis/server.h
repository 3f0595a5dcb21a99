// What kind of server is at the other end: may claims be kept there, and what does it promise?
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/redis_url.h"
#include "store/redis/connection.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

struct RedisFacts {
  // By how much the server's clock is ahead of ours, which never jumps: it takes time to ask, so between these two.
  struct Ahead {
    Millis least{};
    Millis most{};
  };
  std::string version;   // as the server says it
  bool cluster = false;  // part of one
  bool primary = false;
  std::size_t replicas = 0;      // that are connected
  bool keeps_log = false;        // the append-only file is on
  std::string fsync;             // how that is synced; empty: the server does not say
  bool skips_fsync = false;      // no-appendfsync-on-rewrite
  std::string policy;            // what goes when the memory is full
  std::uint64_t memory_max = 0;  // 0: no limit
  std::uint64_t memory_used = 0;
  std::string marker;      // of a prepared server: format and id of the store; empty: there is none
  std::string identity;    // how keys are named: "plain" or the mark of an identity; empty if nothing yet, or not here
  bool leaving = false;    // the slot that was asked for is on its way to another server
  bool elsewhere = false;  // another one has it
  Time at;                 // by the server's clock
  Ahead ahead{};
};

// `marker` is the name of the marker that it should have. Code::unavailable: it does not answer, or has not that slot.
Result<RedisFacts> facts_of(const Clock& clock, RedisConnection& connection, const std::string& marker,
                            Millis time_max);

// What the configuration says that the server is.
struct RedisDemands {
  std::size_t replicas = 0;
  core::RedisFsync fsync = core::RedisFsync::always;
  bool cluster = false;
};

// Refuses a server that does not keep what was acknowledged in the way that the configuration says. Says what to do.
Result<void> admit(const RedisFacts& facts, const RedisDemands& demands);
// The marker says that the server was prepared. Code::unavailable: it was not, or it is another store than `known`.
Result<void> recognise(const RedisFacts& facts, const std::string& known);

// Which promises hold on this server, one sentence each, and what an operator should know about its memory.
std::vector<std::string> promises_of(const RedisFacts& facts, const RedisDemands& demands);

inline constexpr const char* marker_format = "2";

}  // namespace semel::store::redis
