// The store that a connection is to lead to.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/redis_url.h"
#include "store/redis/buckets.h"
#include "store/redis/cluster_map.h"
#include "store/redis/server.h"
#include <semel/clock.h>

namespace semel::store::redis {

// The store that was opened. Every later server is compared with it.
struct RedisPlan {
  core::RedisUrl url;
  RedisDemands demands;
  std::string marker;    // of the store (RedisFacts::marker)
  std::string identity;  // by which its keys are named (RedisFacts::identity)
  Millis time_max{2'000};
  Buckets buckets{};
  std::size_t bucket = 0;                    // on whose server the connection is to be
  std::shared_ptr<ClusterMap> cluster = {};  // null if it is none
};

}  // namespace semel::store::redis
