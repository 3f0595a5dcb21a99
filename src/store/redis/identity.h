// How the keys of a Redis store are named (core/identity.h): decided once, by the first gateway that opens it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/crypto.h"
#include "core/identity.h"
#include "store/redis/connection.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

inline constexpr const char* plain_names = "plain";

struct NamedBy {
  std::string name;  // plain_names, or the mark of the identity in hex (RedisFacts::identity)
  std::optional<core::StoreIdentity> identity;
};

// Code::invalid: no key opens the identity. Code::corrupt: what lies in Redis was altered.
Result<NamedBy> settle_names(const Clock& clock, RedisConnection& connection, const std::vector<core::AesKey>& keys,
                             Millis time_max);

}  // namespace semel::store::redis
