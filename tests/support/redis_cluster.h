// A Redis cluster for tests: three primaries with a replica each, made by redis-cli. Like RedisServer, it has folders
// and ports of its own, and is gone when the test program ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/redis_server.h"
#include "support/redis_set.h"

namespace semel::test {

class RedisCluster {
 public:
  // With TLS between all of them, and to their clients, if `tls` is given.
  explicit RedisCluster(const RedisBehindTls* tls = nullptr);
  RedisCluster(const RedisCluster&) = delete;
  RedisCluster& operator=(const RedisCluster&) = delete;
  // One for the whole program; started when it is first asked for.
  static RedisCluster& shared();

  // Two of its members.
  [[nodiscard]] std::string url() const;
  [[nodiscard]] const std::vector<std::unique_ptr<RedisServer>>& servers() const { return servers_; }
  [[nodiscard]] std::uint16_t port(std::size_t server) const { return ports_.at(server); }
  // The port by which members talk to each other, as text.
  [[nodiscard]] const std::string& bus(std::size_t server) const { return buses_.at(server); }
  // Which servers are primaries now.
  [[nodiscard]] std::vector<std::size_t> primaries() const;
  // The primary that has the slot, and the replica that follows it; throws if there is none.
  [[nodiscard]] std::size_t primary_of(std::uint16_t slot) const;
  [[nodiscard]] std::size_t replica_of(std::size_t primary) const;
  [[nodiscard]] std::string id(std::size_t server) const;
  // Runs a command on every primary.
  void run_everywhere(std::initializer_list<std::string_view> words) const;
  // Moves a slot with everything in it, as redis-cli does it.
  void move_slot(std::uint16_t slot, std::size_t to) const;

 private:
  const RedisBehindTls* const tls_;
  std::vector<std::uint16_t> ports_;
  std::vector<std::string> buses_;
  std::vector<std::unique_ptr<RedisServer>> servers_;
};

}  // namespace semel::test
