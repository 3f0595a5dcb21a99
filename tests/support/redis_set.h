// Sets of Redis servers for tests: one behind TLS, one that a Sentinel watches, a cluster. Like RedisServer, each has
// folders and ports of its own, and is gone when the test program ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "support/redis_server.h"

namespace semel::test {

// A server that takes connections over TLS only, from clients with a certificate. Its own is for localhost and
// 127.0.0.1.
class RedisBehindTls {
 public:
  RedisBehindTls();
  ~RedisBehindTls();
  RedisBehindTls(const RedisBehindTls&) = delete;
  RedisBehindTls& operator=(const RedisBehindTls&) = delete;
  static RedisBehindTls& shared();

  [[nodiscard]] RedisServer& server() { return *server_; }
  // With our certificate and the authority that the server's is from.
  [[nodiscard]] std::string url(const std::string& host = "localhost") const;
  // With these options instead: "?ca=…".
  [[nodiscard]] std::string url_with(const std::string& host, const std::string& options) const;
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }
  // For other servers with the same certificates: options of theirs, of redis-cli, and of an address.
  [[nodiscard]] std::vector<std::string> settings() const;
  [[nodiscard]] std::string for_shell() const;
  [[nodiscard]] std::string for_url() const;

 private:
  std::filesystem::path folder_;
  std::uint16_t port_;
  std::unique_ptr<RedisServer> server_;
};

// A primary, a replica, and a Sentinel that calls the primary "main"; all of them over TLS if `tls` is given.
class RedisWithSentinel {
 public:
  explicit RedisWithSentinel(std::vector<std::string> settings = {}, const RedisBehindTls* tls = nullptr);
  ~RedisWithSentinel();
  RedisWithSentinel(const RedisWithSentinel&) = delete;
  RedisWithSentinel& operator=(const RedisWithSentinel&) = delete;
  static RedisWithSentinel& shared();

  [[nodiscard]] RedisServer& primary() { return *servers_.at(0); }  // when it was started
  [[nodiscard]] RedisServer& replica() { return *servers_.at(1); }
  [[nodiscard]] std::string url() const;
  // Runs a command on the Sentinel. What redis-cli prints.
  [[nodiscard]] std::string ask(const std::string& words) const;

 private:
  std::vector<std::unique_ptr<RedisServer>> servers_;
  const RedisBehindTls* const tls_;
  std::filesystem::path folder_;
  std::uint16_t port_;
  pid_t pid_ = -1;
};

// What a shell prints for a command.
std::string shell(const std::string& command);

}  // namespace semel::test
