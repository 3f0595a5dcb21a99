// What other threads hand to the driver's thread: calls, new connections, the wish that it ends. And how it sleeps.
#pragma once

#include <mutex>
#include <vector>

#include <sys/poll.h>

#include "store/redis/batch.h"
#include "store/redis/dialer.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

class Intake {
 public:
  Intake();
  ~Intake();
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  // From any thread.
  void add(RedisEntry entry);
  void add(Result<RedisLink> link);
  void close();

  // On the driver's thread.
  struct Taken {
    std::vector<RedisEntry> calls;
    std::vector<Result<RedisLink>> links;
    bool closing = false;
  };
  Taken take();
  // Sleeps until one of `sockets` can be read or written, something arrives, or `time_max` is over.
  void wait(std::vector<pollfd>& sockets, Millis time_max);

 private:
  void ring() const;

  const int bell_;  // wakes the driver's thread
  std::mutex mutex_;
  Taken arrived_;
  bool sleeping_ = false;
};

}  // namespace semel::store::redis
