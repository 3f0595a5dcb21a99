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
#include "store/redis/connection.h"
#include "store/redis/gate.h"
#include "store/redis/options.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

class LossDesk {
 public:
  LossDesk(ClaimGate& gate, core::RedisOnLoss on_loss, std::string process, std::function<void(const RedisLoss&)> told)
      : gate_(gate), on_loss_(on_loss), process_(std::move(process)), told_(std::move(told)) {}

  // A loss was noticed; `at` is the server's time.
  void add(const RedisLoss& loss, Time at);
  // Writes down what is not, learns of what others have noticed, and opens the gate if an operator has accepted it.
  // Code::unavailable: the connection is lost.
  Result<void> settle(const Clock& clock, RedisConnection& connection, Millis time_max);

 private:
  ClaimGate& gate_;
  const core::RedisOnLoss on_loss_;
  const std::string process_;
  const std::function<void(const RedisLoss&)> told_;
  std::mutex mutex_;
  std::vector<std::string> lines_;  // of our own losses that nobody has accepted
  std::uint64_t since_ = 0;         // the server's time of the last loss that we stopped for; 0: we have not
};

// Reads the losses that nobody has accepted, accepts them, and returns them as text, a line each. With replicas they
// hear of it as of any write.
Result<std::string> accept_losses(const Clock& clock, RedisConnection& connection, Millis time_max);

}  // namespace semel::store::redis
