// A driver for each primary, and which of them a call is for. A single server is a fleet of one.
//
//   submit() ──▶ bucket of the key ──▶ driver of the primary that has it ──▶ answered
//                        ▲                         │
//                        └──── it says: elsewhere ─┘
//
// A driver has its beats in one bucket of its primary, its home. After a failover the home is found on the replica that
// was promoted, with the beats that it knows of. A home whose slot is moved to another primary tells nothing about the
// first one any more: its driver is retired, and the primary gets another one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "store/call.h"
#include "store/redis/batch.h"
#include "store/redis/driver.h"
#include "store/redis/listener.h"
#include "store/redis/losses.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::redis {

class RedisFleet {
 public:
  RedisFleet(const Clock& clock, RedisDriverOptions options);
  ~RedisFleet();
  RedisFleet(const RedisFleet&) = delete;
  RedisFleet& operator=(const RedisFleet&) = delete;

  // Connects to every primary. Call it once, before submit().
  Result<void> start();
  // Completes, on the caller's executor, when the call has been answered. `call` must live until then.
  Task<void> submit(StoreCall& call);

  void watch(std::function<void(const Digest&)> ended);
  void expect(const Key& key);

 private:
  struct Ship {
    Ship(const Clock& clock, const RedisDriverOptions& options, LossDesk& losses, RedisDriver::Elsewhere elsewhere);
    std::size_t home;
    ChannelListener listener;
    RedisDriver driver;
  };

  Ship& ship_of(std::size_t bucket);
  Ship* find_ship(const std::string& place);
  void assign();
  Ship& build(std::size_t home);
  void send(RedisEntry entry);
  void turn_away(RedisEntry entry);

  const Clock& clock_;
  const RedisDriverOptions options_;
  LossDesk losses_;
  std::atomic<std::size_t> sweeping_ = 0;  // the next bucket
  std::shared_mutex mutex_;
  std::function<void(const Digest&)> ended_;
  std::vector<std::unique_ptr<Ship>> ships_;
  std::vector<Ship*> by_bucket_;
  std::set<std::size_t> left_;  // homes of those that are retired
  std::uint64_t version_ = 0;   // of the map that by_bucket_ is made from
};

}  // namespace semel::store::redis
