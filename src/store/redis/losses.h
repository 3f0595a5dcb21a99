// What becomes of a loss: it is told, and with on_loss = "stop" no gateway takes claims until an operator has looked.
//
// The losses that nobody has accepted are a list in Redis itself, so that a gateway that is restarted, and one that has
// noticed nothing, stop as well. A gateway that has noticed one does not rely on that list: the next failover may lose
// it. It writes it again until it has been accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/redis_url.h"
#include "store/redis/asker.h"
#include "store/redis/gate.h"
#include "store/redis/options.h"
#include "store/redis/plan.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

class LossDesk {
 public:
  LossDesk(const Clock& clock, const RedisPlan& plan, core::RedisOnLoss on_loss,
           std::function<void(const RedisLoss&)> told)
      : asker_(clock, plan), on_loss_(on_loss), told_(std::move(told)), bucket_(plan.buckets.first()) {}

  // A loss was noticed by `process`; `at` is the server's time.
  void add(const RedisLoss& loss, const std::string& process, Time at);
  // Writes down what is not, learns of what others have noticed, and opens the gate if an operator has accepted it.
  // Code::unavailable: the list cannot be read or written.
  Result<void> settle();
  [[nodiscard]] const ClaimGate& gate() const { return gate_; }

 private:
  ClaimGate gate_;
  BucketAsker asker_;  // guarded by mutex_
  const core::RedisOnLoss on_loss_;
  const std::function<void(const RedisLoss&)> told_;
  const std::size_t bucket_;  // where the list lies
  std::mutex mutex_;
  std::vector<std::string> lines_;  // of our own losses that nobody has accepted
  std::uint64_t since_ = 0;         // the server's time of the last loss that we stopped for; 0: we have not
};

// Reads the losses that nobody has accepted, accepts them, and returns them as text, a line each. With replicas they
// hear of it as of any write. `bucket` is where they lie.
Result<std::string> accept_losses(BucketAsker& asker, std::size_t bucket);

}  // namespace semel::store::redis
