// Hears `NOTIFY semel_outbox`, on a connection and a thread of its own.
//
// A ring is a hint: what waits is found by looking, too. So whatever becomes of this connection, also one that is never
// answered, the mover does not wait for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "store/postgres/connection.h"
#include <semel/clock.h>

namespace semel::outbox {

class Doorbell {
 public:
  // `ring` is called on the thread of this, once for any number of notifications that are there, and whenever it begins
  // to listen: somebody may have rung before.
  Doorbell(Clock& clock, std::string url, std::function<void()> ring);
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  void start();
  void stop();

 private:
  void run();
  bool open();

  Clock& clock_;
  const std::string url_;
  const std::function<void()> ring_;
  store::postgres::DatabaseConnection link_;  // of the thread
  struct Sleep {
    std::mutex mutex;
    std::condition_variable woken;
  };
  Sleep sleep_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace semel::outbox
