// A connection of its own for what no request waits for, made when it is first used.
#pragma once

#include <memory>
#include <utility>

#include "store/aside.h"
#include "store/call.h"
#include "store/postgres/driver.h"
#include "store/postgres/statement.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::store::postgres {

class LateDriver {
 public:
  LateDriver(const Clock& clock, DriverOptions options) : clock_(clock), options_(std::move(options)) {}

  // Completes when the call has been answered. `call` must live until then. An error: there is no connection, and the
  // call was not made.
  Async<void> submit(StoreCall* call, ServerStep* step = nullptr);

 private:
  const Clock& clock_;
  const DriverOptions options_;
  std::unique_ptr<Driver> driver_;  // null until it is first used; made on the thread of aside_
  Aside aside_;
};

}  // namespace semel::store::postgres
