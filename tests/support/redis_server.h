// A Redis server for tests: its own folder, a socket in that folder, no port unless one is asked for; gone when the
// test program ends, even if that crashes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "store/redis/resp.h"

namespace semel::test {

class RedisServer {
 public:
  // `settings` are options of redis-server, each a name and its value ("appendfsync always"). They come after the
  // usual ones: a log that is synced every second. Throws if the server does not start.
  explicit RedisServer(std::vector<std::string> settings = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  // One for the whole program; started when it is first asked for.
  static RedisServer& shared();

  [[nodiscard]] std::string url(unsigned database = 0) const;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::filesystem::path socket() const { return folder_ / "s"; }
  [[nodiscard]] pid_t pid() const { return pid_; }

  // Runs a command. Throws if there is no answer; an error of the server is an answer.
  store::redis::RespValue run(std::initializer_list<std::string_view> words, unsigned database = 0) const;
  store::redis::RespValue run_words(const std::vector<std::string>& words) const;
  // The same for an answer that is text or a number.
  std::string text(std::initializer_list<std::string_view> words, unsigned database = 0) const;

  void start();
  // As a power failure without the failure of the disk.
  void crash();

 private:
  std::vector<std::string> settings_;
  std::filesystem::path folder_;
  pid_t pid_ = -1;
};

// A port on the loopback that is free now, and that no outgoing connection is given; never one twice.
std::uint16_t free_port();

// Starts a program that ends with this one; what it prints goes to `log`. Throws if there is no new process.
pid_t start_program(const std::vector<std::string>& command, const std::filesystem::path& log);

}  // namespace semel::test
