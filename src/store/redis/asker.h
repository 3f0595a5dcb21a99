// Asks the servers of a store outside of batches: for operators, for preparing, for losses. It has connections of its
// own, one per server, made when they are first needed. It blocks, and is used by one thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/redis/connection.h"
#include "store/redis/plan.h"
#include "store/redis/resp.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

// One command with one reply, for the server that has the bucket.
struct BucketCommand {
  std::size_t bucket = 0;
  std::string text;
};

class BucketAsker {
 public:
  BucketAsker(const Clock& clock, RedisPlan plan) : clock_(clock), plan_(std::move(plan)) {}

  // The replies in the order of the commands, none of which is an error. Follows buckets that move, and connects again
  // once to a server that has gone.
  Result<std::vector<RespValue>> ask(const std::vector<BucketCommand>& commands);
  // One bucket of each primary.
  Result<std::vector<std::size_t>> primaries();

 private:
  [[nodiscard]] std::string place_of(std::size_t bucket) const;
  Result<RedisConnection*> connect(std::size_t bucket);
  Result<void> ask_place(const std::vector<std::size_t>& group, const std::vector<BucketCommand>& commands,
                         std::vector<RespValue>& replies);

  const Clock& clock_;
  RedisPlan plan_;
  std::unordered_map<std::string, RedisConnection> connections_;
};

}  // namespace semel::store::redis
