// Which server of a cluster has which slots, as far as is known here. It may be behind: servers say so (MOVED).
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/redis_url.h"
#include "store/redis/buckets.h"
#include "store/redis/resp.h"
#include <semel/result.h>

namespace semel::store::redis {

// "10.0.0.1:6379"
std::string host_text(const core::RedisHost& host);

// Where a server sends a call: "MOVED 3999 127.0.0.1:6381", or ASK for this call only.
struct Redirection {
  std::uint16_t slot = 0;
  core::RedisHost host;
  bool asking = false;
};
// None if the reply is another one. A server that does not know its own address means the one that was asked.
std::optional<Redirection> redirection_in(const RespValue& reply);

// May be used from any thread.
class ClusterMap {
 public:
  explicit ClusterMap(std::vector<core::RedisHost> seeds) : seeds_(std::move(seeds)) {}

  // Those that can be asked, the ones of the address last. A different one comes first each time.
  std::vector<core::RedisHost> advisers();
  // What CLUSTER SLOTS has answered at `asked`. Code::unavailable: it cannot be read, or nobody has slots.
  Result<void> learn(const RespValue& reply, const core::RedisHost& asked);
  void move(const Redirection& moved);

  [[nodiscard]] std::optional<core::RedisHost> owner(std::uint16_t slot) const;
  // The primary of a slot and its replicas, as text. Whoever is promoted was among them.
  [[nodiscard]] std::vector<std::string> family(std::uint16_t slot) const;
  // Grows with every change.
  [[nodiscard]] std::uint64_t version() const;

 private:
  struct Shard {
    std::vector<core::RedisHost> hosts;  // the primary first
  };

  const std::vector<core::RedisHost> seeds_;
  mutable std::mutex mutex_;
  std::vector<Shard> shards_;
  std::array<std::uint16_t, slot_count> slots_{};  // number of the shard, from 1
  std::uint64_t version_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace semel::store::redis
