// The listener: hears that keys have ended, wherever they ran.
//
// A caller that waits subscribes to the channel of its key, marks the record, and is told by the script that ends the
// key. Subscribing comes first, so nothing falls in between. Channels are sharded ones, since those work in every
// set-up. It is a hint: callers that missed a message find out when they look again by themselves.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/redis/connection.h"
#include "store/redis/plan.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::redis {

class ChannelListener {
 public:
  using Ended = std::function<void(const Digest&)>;

  ChannelListener(const Clock& clock, RedisPlan plan);
  ~ChannelListener();
  ChannelListener(const ChannelListener&) = delete;
  ChannelListener& operator=(const ChannelListener&) = delete;

  void watch(Ended ended) { ended_ = std::move(ended); }
  void expect(const Digest& id, std::size_t bucket);

 private:
  struct Expected {
    Digest id;
    std::size_t bucket;
  };
  struct Channel {
    std::size_t bucket;
    Time since;
  };
  // Two connections: one that is subscribed can do nothing else.
  struct Ears {
    RedisConnection hears;
    RedisConnection marks;
    std::string await;                            // hash of the script
    std::unordered_map<Key, Channel> channels{};  // that are subscribed to
  };

  void serve();
  void connect();
  Result<void> work(Ears& ears, const std::vector<Expected>& expected);
  Result<void> hear(Ears& ears);
  void forget_old(Ears& ears) const;
  void wait();

  const Clock& clock_;
  const RedisPlan plan_;
  const int wake_fd_;
  Ended ended_;
  std::optional<Ears> ears_;  // of the thread
  Time retry_at_{};

  std::mutex mutex_;
  std::vector<Expected> expected_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace semel::store::redis
