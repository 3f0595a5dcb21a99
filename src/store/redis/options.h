// How a Redis store is opened, and what it reports.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/redis_url.h"
#include <semel/clock.h>

namespace semel::store::redis {

// Calls that had been acknowledged, and that the server has forgotten in a restart or a failover.
struct RedisLoss {
  std::uint64_t calls = 0;
  bool more = false;  // there were more than can be counted here
  Time since;         // when the first of them was acknowledged

  friend bool operator==(const RedisLoss&, const RedisLoss&) = default;
};

struct RedisOptions {
  std::string url;
  Millis time_max{5'000};    // a call without an answer for this long ends with Code::unavailable
  std::size_t replicas = 0;  // that must have each call before it is answered
  core::RedisFsync fsync = core::RedisFsync::always;
  core::RedisOnLoss on_loss = core::RedisOnLoss::report;
  // As for the PostgreSQL store.
  std::function<void(std::size_t calls, std::chrono::nanoseconds took)> on_commit = {};
  // Called when a loss is noticed, on a thread of the store.
  std::function<void(const RedisLoss&)> on_lost = {};
  // Called when the clock by which keys live has jumped by a second or more, as after a failover to a server whose
  // clock is another; forward if it is above 0. On a thread of the store.
  std::function<void(Millis)> on_jump = {};
};

}  // namespace semel::store::redis
