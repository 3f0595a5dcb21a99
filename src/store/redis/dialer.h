// Makes connections on a thread of its own, so that a slow name lookup or a server that does not answer delays nobody
// else. Between times it looks at the server's settings again: what was admitted may have been changed since.
//
// Each connection reads the beat of the one before it in its slot, which tells what has been lost in between.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/redis_url.h"
#include "store/redis/batch.h"
#include "store/redis/beats.h"
#include "store/redis/connection.h"
#include "store/redis/gate.h"
#include "store/redis/home_beats.h"
#include "store/redis/losses.h"
#include "store/redis/plan.h"
#include "store/redis/server.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

// A connection in its slot, with our scripts on the server.
struct RedisLink {
  RedisConnection connection;
  std::size_t slot = 0;
  ScriptHashes hashes{};
};

// What the dialer finds out about the server that the driver uses.
struct HomeNews {
  std::atomic<bool> retired = false;   // the home of the beats has moved to another primary: nothing more is done
  std::atomic<bool> replaced = false;  // another server has taken over, or this one has lost something: look again
};

class RedisDialer {
 public:
  using Deliver = std::function<void(Result<RedisLink>)>;

  // What it shares with others; all of it must outlive the dialer.
  struct Shared {
    BeatBook& beats;
    ClaimGate& gate;
    LossDesk& losses;
    HomeNews& news;
    std::string process;  // of the names of the beats
    std::function<void(Millis)> on_jump{};
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
  // The driver is retired, and nobody is answered over its connections any more: what is lost is told for the last
  // time.
  void take_leave();

 private:
  enum class Phase : std::uint8_t { dialing, parting, parted, closing };
  // The looks at the server beside those that connect.
  struct Watch {
    std::optional<RedisConnection> connection{};
    Time next{};
    std::optional<RedisFacts::Ahead> ahead{};  // of the server that was asked last
    core::RedisHost host{};                    // where the last connection led
  };
  void serve();
  std::optional<std::size_t> next(Millis pause);
  Millis try_once(std::size_t slot, Millis pause);
  void look_again();
  [[nodiscard]] bool leads_elsewhere() const;
  void compare_clock(const RedisFacts& facts);
  Millis part();
  std::unexpected<Error> retire(RedisConnection& connection, Time at);

  const Clock& clock_;
  const RedisPlan plan_;
  const Shared shared_;
  const Deliver deliver_;
  HomeBeats home_;  // of the thread, once it runs
  Watch watch_;     // the same
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::size_t> wanted_;
  Phase phase_ = Phase::dialing;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace semel::store::redis
