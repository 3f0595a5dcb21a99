// Where the primary is. An address may name it, or those who know it: Sentinels, or the members of a cluster, which are
// asked for every connection.
//
// Those who are asked may be behind. So what they name is only tried: the server itself must say that it is the
// primary.
#pragma once

#include "core/redis_url.h"
#include "store/redis/connection.h"
#include "store/redis/plan.h"
#include "store/redis/server.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

struct Admitted {
  RedisConnection connection;
  RedisFacts facts;
  core::RedisHost host;
};
// Connects to the primary that has the bucket of the plan, and has it admitted. Gives what it found.
Result<Admitted> connect_admitted(const Clock& clock, const RedisPlan& plan);
// The same without judging what it is.
Result<Admitted> connect_primary(const Clock& clock, const RedisPlan& plan);

}  // namespace semel::store::redis
