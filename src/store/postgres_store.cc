// The PostgreSQL store: coroutines in front, one driver behind.
#include <algorithm>
#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/this_coro.hpp>

#include "store/batch.h"
#include "store/postgres_driver.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel {
namespace {

constexpr std::size_t sweep_chunk = 1'000;  // so that no connection is busy with it for long

class PostgresStore : public Store {
 public:
  PostgresStore(const Clock& clock, postgres::DriverOptions options) : driver_(clock, std::move(options)) {}

  Result<void> start() { return driver_.start(); }

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override {
    Call call{.key = std::move(key), .request = {}};
    auto& request = call.request.emplace<ClaimCall>();
    request.fingerprint = fingerprint;
    request.terms = terms;
    co_await driver_.submit(call);
    co_return std::move(request.answer);
  }

  Async<void> renew(Key key, Fence fence, Millis lease) override {
    Call call{.key = std::move(key), .request = {}};
    auto& request = call.request.emplace<RenewCall>();
    request.fence = fence;
    request.lease = lease;
    co_await driver_.submit(call);
    co_return std::move(request.answer);
  }

  Async<void> complete(Key key, Fence fence, SharedResponse response) override {
    Call call{.key = std::move(key), .request = {}};
    auto& request = call.request.emplace<CompleteCall>();
    request.fence = fence;
    request.response = std::move(response);
    co_await driver_.submit(call);
    co_return std::move(request.answer);
  }

  Async<void> release(Key key, Fence fence) override {
    Call call{.key = std::move(key), .request = {}};
    auto& request = call.request.emplace<ReleaseCall>();
    request.fence = fence;
    co_await driver_.submit(call);
    co_return std::move(request.answer);
  }

  Async<std::size_t> sweep(std::size_t limit) override {
    std::size_t swept = 0;
    while (swept < limit) {
      const std::size_t chunk = std::min(sweep_chunk, limit - swept);
      Call call;
      auto& request = call.request.emplace<SweepCall>();
      request.limit = chunk;
      co_await driver_.submit(call);
      if (!request.answer) co_return std::move(request.answer);
      swept += *request.answer;
      const auto cancelled = co_await boost::asio::this_coro::cancellation_state;
      if (*request.answer < chunk || cancelled.cancelled() != boost::asio::cancellation_type::none) break;
    }
    co_return swept;
  }

 private:
  postgres::Driver driver_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_postgres_store(Clock& clock, PostgresOptions options) {
  auto store = std::make_unique<PostgresStore>(clock, postgres::DriverOptions{.url = std::move(options.urls.front()),
                                                                              .time_max = options.time_max,
                                                                              .connections = options.connections});
  const Result<void> started = store->start();
  if (!started) return std::unexpected(started.error());
  return store;
}

}  // namespace semel
