// Stands between a client and a server on Unix sockets and breaks what a network breaks.
//
//   pass     bytes go both ways
//   deaf     what the client says goes on to the server; the answers are dropped
//   swallow  those that come after it are taken, and hear nothing; those that are there pass
//   cut()    closes every connection, both sides of it: an answer that had not arrived never does. Those that come
//            after it pass
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace semel::test {

class Relay {
 public:
  // Listens at `folder`/.s.PGSQL.`port` and passes on to `server`, the path of a socket.
  Relay(const std::filesystem::path& folder, int port, std::string server);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  void deaf() { deaf_ = true; }
  void pass() { deaf_ = swallows_ = false; }
  void swallow() { swallows_ = true; }
  void cut();
  // How many bytes the clients have sent since the start.
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

 private:
  void accept_all();
  void pump(int client, int server, std::uint64_t generation);

  const std::string path_;
  const std::string server_;
  int listener_;
  std::atomic<bool> deaf_ = false;
  std::atomic<bool> swallows_ = false;
  std::atomic<std::uint64_t> generation_ = 0;  // how often connections have been cut
  std::atomic<bool> closing_ = false;
  std::atomic<std::uint64_t> sent_ = 0;
  std::mutex mutex_;
  std::vector<int> sockets_;
  std::vector<int> swallowed_;
  std::vector<std::thread> pumps_;
  std::thread acceptor_;
};

}  // namespace semel::test
