// One connection from a client: request after request until somebody has had enough.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "http/connection.h"
#include "http/transaction.h"

namespace semel::http {

class Handler {
 public:
  virtual ~Handler() = default;
  // Answers the request. What it leaves unanswered closes the connection.
  virtual Task<void> handle(Transaction& transaction) = 0;
};

struct SessionLimits {
  std::uint32_t head_bytes = 65'536;
  Millis head_time{10'000};  // from its first byte to its last
  Millis body_time{60'000};  // for the body to arrive, and for the answer to be taken
  Millis idle_time{60'000};
};

// Runs until the connection ends. `draining` is asked before each request.
Task<void> serve(std::unique_ptr<Connection> connection, Handler& handler, SessionLimits limits,
                 const std::atomic<bool>& draining);

}  // namespace semel::http
