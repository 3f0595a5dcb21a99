// The driver: one thread that gathers the calls of all threads into batches and keeps a few connections busy with them.
//
//   callers (any io_context) ──submit()──▶ Intake ──▶ queue ──▶ CallBatch ──▶ connections ──▶ server
//                                                       ▲                        │
//                                                       └─ not settled, or lost ─┘
//
// A call that finds a connection idle goes at once; while all are busy, calls gather. Every call may be repeated, since
// it carries its owner or its fence: one whose answer was lost, or that too few replicas have, goes again, and the
// record itself says what became of it. A call is answered within its time; if the server was too slow, nobody knows
// whether it was applied.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/redis_url.h"
#include "store/call.h"
#include "store/redis/batch.h"
#include "store/redis/beats.h"
#include "store/redis/dialer.h"
#include "store/redis/gate.h"
#include "store/redis/intake.h"
#include "store/redis/losses.h"
#include "store/redis/options.h"
#include "store/waiting.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

struct RedisDriverOptions {
  RedisPlan plan;
  Millis time_max{5'000};  // of a call
  core::RedisOnLoss on_loss = core::RedisOnLoss::report;
  std::function<void(std::size_t calls, std::chrono::nanoseconds took)> on_commit{};
  std::function<void(const RedisLoss&)> on_lost{};
};

// A connection, and the batch that is under way on it.
struct RedisPipe {
  RedisLink link;
  std::unique_ptr<CallBatch> batch{};  // null if it is idle
  CallBatch::Ending ending{};
  std::vector<RespValue> replies{};
  std::chrono::nanoseconds sent_at{};
};

class RedisDriver {
 public:
  RedisDriver(const Clock& clock, RedisDriverOptions options);
  // Calls that are under way are answered with Code::unavailable.
  ~RedisDriver();
  RedisDriver(const RedisDriver&) = delete;
  RedisDriver& operator=(const RedisDriver&) = delete;

  // Makes the first connection and starts. Call it once, before submit().
  Result<void> start();

  // Completes, on the caller's executor, when the call has been answered. `call` must live until then.
  Task<void> submit(StoreCall& call);

 private:
  void serve();
  void take_in(Intake::Taken taken);
  void expire();
  void send();
  void wait();
  void advance(RedisPipe& pipe);
  void settle(RedisPipe& pipe);
  void lose(RedisPipe& pipe, const Error& why);
  void again(std::vector<RedisEntry> entries);
  void refuse_now(RedisEntry entry, const Error& error);
  void refuse_claims(const Error& error);

  const Clock& clock_;
  const RedisDriverOptions options_;
  const std::string process_;
  Intake intake_;
  ClaimGate gate_;
  BeatBook beats_;
  LossDesk losses_;

  // Of the driver's thread.
  struct State {
    RedisQueue queue{};
    std::vector<std::unique_ptr<RedisPipe>> pipes{};
    BatchMemory memory{};
    Wakes answered{};
    std::optional<Error> refusal{};  // why the last one could not be made
    std::optional<Error> down{};     // why claims are refused: there has been no connection for a while
    Time lost_at{};                  // when the last one went
    Time pause_until{};              // the server takes no writes for now
  };
  State state_;
  RedisDialer dialer_;
  std::thread thread_;
};

}  // namespace semel::store::redis
