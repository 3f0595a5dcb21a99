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
#include <utility>
#include <vector>

#include "core/redis_url.h"
#include "store/redis/batch.h"
#include "store/redis/beats.h"
#include "store/redis/dialer.h"
#include "store/redis/gate.h"
#include "store/redis/intake.h"
#include "store/redis/losses.h"
#include "store/redis/options.h"
#include "store/redis/plan.h"
#include "store/waiting.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

struct RedisDriverOptions {
  RedisPlan plan;
  Millis time_max{5'000};  // of a call
  core::RedisOnLoss on_loss = core::RedisOnLoss::report;
  std::function<void(std::size_t calls, std::chrono::nanoseconds took)> on_commit{};
  std::function<void(const RedisLoss&)> on_lost{};
  std::function<void(Millis)> on_jump{};
};

// A connection, and the batch that is under way on it.
struct RedisPipe {
  RedisLink link;
  std::unique_ptr<CallBatch> batch{};  // null if it is idle
  CallBatch::Ending ending{};
  std::vector<RespValue> replies{};
  std::chrono::nanoseconds sent_at{};
  bool doubted = false;  // another server may have taken over: no further batch goes over it
};

// Some random bytes.
std::string random_token(std::size_t bytes);

class RedisDriver {
 public:
  // Takes calls that this server has sent away, on the driver's thread.
  using Elsewhere = std::function<void(RedisEntry)>;

  RedisDriver(const Clock& clock, RedisDriverOptions options, LossDesk& losses, Elsewhere elsewhere);
  // Calls that are under way are answered with Code::unavailable.
  ~RedisDriver();
  RedisDriver(const RedisDriver&) = delete;
  RedisDriver& operator=(const RedisDriver&) = delete;

  // Makes the first connection and starts. Call it once.
  Result<void> start();
  // The same without waiting for the connection.
  void start_later();
  // Answers every call that is under way with Code::unavailable, and takes no more.
  void stop();

  void add(RedisEntry entry) { intake_.add(std::move(entry)); }
  // The home of its beats has moved to another primary. It takes no more calls.
  [[nodiscard]] bool is_retired() const { return news_.retired; }

 private:
  void serve();
  void take_in(Intake::Taken taken);
  void expire();
  void notice_silence();
  void send();
  void wait();
  void advance(RedisPipe& pipe);
  void settle(RedisPipe& pipe);
  void lose(RedisPipe& pipe, const Error& why);
  void again(std::vector<RedisEntry> entries);
  void refuse_now(RedisEntry entry, const Error& error);
  void refuse_claims(const Error& error);
  void refuse_impatient(const Error& error);
  void refuse_late();
  void miss_replicas(std::vector<RedisEntry> entries);
  void send_away(std::vector<RedisEntry> entries);
  void put_off(std::vector<RedisEntry> entries);
  void hand_over();
  void doubt_all();
  void drop_doubted();

  const Clock& clock_;
  const RedisDriverOptions options_;
  const std::string process_;
  Intake intake_;
  ClaimGate gate_;
  BeatBook beats_;
  LossDesk& losses_;
  const Elsewhere elsewhere_;
  HomeNews news_;

  // Of the driver's thread.
  struct State {
    RedisQueue queue{};
    std::vector<RedisEntry> later{};  // those that wait for their time
    std::vector<std::unique_ptr<RedisPipe>> pipes{};
    BatchMemory memory{};
    Wakes answered{};
    std::optional<Error> refusal{};  // why the last one could not be made
    std::optional<Error> down{};     // why claims are refused: there has been no connection, or no answer, for a while
    Time lost_at{};                  // when the last one went
    std::chrono::nanoseconds heard_at{};  // by the stopwatch: when the server answered last
    Time pause_until{};                   // the server takes no writes for now
    Time lacking_until{};                 // too few replicas answer: claims are refused at once
  };
  State state_;
  RedisDialer dialer_;
  std::thread thread_;
};

}  // namespace semel::store::redis
