#include "store/postgres/late_driver.h"

#include <memory>
#include <utility>

#include "store/call.h"
#include "store/postgres/driver.h"
#include "store/postgres/statement.h"
#include <semel/async.h>
#include <semel/result.h>

namespace semel::store::postgres {

// Connecting takes a while, so it is not done on the caller's thread.
Async<void> LateDriver::submit(StoreCall* call, ServerStep* step) {
  Driver* driver = nullptr;
  Result<void> started;
  const auto connect = [&] {
    if (driver_ == nullptr) {
      auto fresh = std::make_unique<Driver>(clock_, options_);
      started = fresh->start();
      if (started) driver_ = std::move(fresh);
    }
    driver = driver_.get();
  };
  co_await aside_.run(connect);
  if (!started) co_return started;
  co_await driver->submit(*call, nullptr, step);
  co_return Result<void>();
}

}  // namespace semel::store::postgres
