// The mover of an outbox: takes what programs have sent out of their database, and puts it into the inbox.
//
//   look ──▶ take (rows are deleted in an open transaction) ──▶ inbox accepts them, durably ──▶ commit
//
// A process that dies on the way leaves the rows where they are: they are moved again, and the inbox knows their keys.
// Of all gateways one moves, by a lease in that database; who has it keeps it by looking. It is a thread of its own,
// because it waits for a database of somebody else; no request waits for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "config/config.h"
#include "gateway/dispatcher.h"
#include "outbox/database.h"
#include "outbox/doorbell.h"
#include "outbox/pace.h"
#include "outbox/trouble.h"
#include "telemetry/outbox_metrics.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::outbox {

class Mover {
 public:
  // All of these outlive it. `me` is random; `say` takes a line for the log.
  Mover(Clock& clock, gateway::Dispatcher& dispatcher, config::OutboxConfig outbox, std::uint64_t me,
        std::function<void(const std::string&)> say);
  ~Mover();
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  void start();
  // Ends the batch that is under way, while the threads of the gateway still run, and lets another one move.
  void stop();

  [[nodiscard]] std::shared_ptr<const telemetry::OutboxMetrics> metrics() const { return metrics_; }

 private:
  void run();
  // One round. Returns how long to wait until the next.
  Result<Millis> round();
  Result<bool> move();
  Result<void> keep_house();
  Result<void> look_back();
  void grow_older();
  // Until somebody rings, or it is told to stop.
  void wait(Millis time);
  void rung();
  // The same, but for those who ring.
  void rest(Millis time);

  Clock& clock_;
  gateway::Dispatcher& dispatcher_;
  const config::OutboxConfig outbox_;
  OutboxDatabase database_;
  LookPace pace_;
  struct Log {
    TroubleLog trouble;
    std::function<void(const std::string&)> say;
  };
  Log log_;
  std::shared_ptr<telemetry::OutboxMetrics> metrics_;
  // Of the thread.
  struct Rounds {
    std::uint64_t moved = 0;  // since the last turn
    Time turned{};
    Time looked_back{};
    OutboxBacklog backlog{};  // as it was then
    Millis trouble_wait{0};
    bool moves = false;  // and no other gateway does
  };
  Rounds rounds_;
  struct Sleep {
    std::mutex mutex;
    std::condition_variable woken;
    bool rung = false;
  };
  Sleep sleep_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
  Doorbell doorbell_;  // last: its thread uses the above
};

}  // namespace semel::outbox
