// Makes connections on a thread of its own, so that a slow name lookup or a server that does not answer delays nobody
// else. Between times it looks at the server's settings again: what was admitted may have been changed since.
//
// Each connection reads the beat of the one before it in its slot, which tells what has been lost in between.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "store/redis/batch.h"
#include "store/redis/beats.h"
#include "store/redis/connection.h"
#include "store/redis/gate.h"
#include "store/redis/losses.h"
#include "store/redis/plan.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

// A connection in its slot, with our scripts on the server.
struct RedisLink {
  RedisConnection connection;
  std::size_t slot = 0;
  ScriptHashes hashes{};
};

class RedisDialer {
 public:
  using Deliver = std::function<void(Result<RedisLink>)>;

  // What it shares with others; all of it must outlive the dialer.
  struct Shared {
    BeatBook& beats;
    ClaimGate& gate;
    LossDesk& losses;
    std::atomic<bool>& retired;  // set when the home of the beats has moved to another primary: nothing more is done
    std::string process;         // of the names of the beats
  };
  // `deliver` is called on the dialer's thread, with a connection or with what went wrong.
  RedisDialer(const Clock& clock, RedisPlan plan, Shared shared, Deliver deliver);
  ~RedisDialer();
  RedisDialer(const RedisDialer&) = delete;
  RedisDialer& operator=(const RedisDialer&) = delete;

  // Connects on the caller's thread.
  Result<RedisLink> dial(std::size_t slot);
  // A connection is wanted in this slot. Goes on trying until there is one.
  void want(std::size_t slot);

 private:
  void serve();
  std::optional<std::size_t> next(Millis pause);
  Millis try_once(std::size_t slot, Millis pause);
  void look_again();
  [[nodiscard]] bool has_moved();
  std::unexpected<Error> retire();
  Result<void> begin_beats(RedisConnection& connection, std::size_t slot, const ScriptHashes& hashes);

  const Clock& clock_;
  const RedisPlan plan_;
  const Shared shared_;
  const Deliver deliver_;
  std::optional<RedisConnection> watching_;  // of the thread
  Time look_at_{};                           // the same: when to look again
  std::vector<std::string> family_{};        // the same: the servers of the shard, one of which is the primary
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::size_t> wanted_;
  bool closing_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace semel::store::redis
