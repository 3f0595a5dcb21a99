// The PostgreSQL store: coroutines in front, one driver behind.
#include <algorithm>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/this_coro.hpp>

#include "core/terms.h"
#include "store/batch.h"
#include "store/postgres_driver.h"
#include "store/postgres_listener.h"
#include "store/postgres_shards.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/endings.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel {
namespace {

constexpr std::size_t sweep_chunk = 1'000;  // so that no connection is busy with it for long

class PostgresStore : public Store, public Endings {
 public:
  PostgresStore(const Clock& clock, const std::string& url, const PostgresOptions& options)
      : listener_(clock, url, options.time_max),
        driver_(clock, {.url = url,
                        .time_max = options.time_max,
                        .connections = options.connections,
                        .waited = [this](const std::vector<Digest>& ids) { listener_.tell(ids); }}) {}

  Result<void> start() { return driver_.start(); }

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override {
    if (Result<void> sound = check_terms(terms); !sound) co_return std::unexpected(std::move(sound.error()));
    Call call{.key = std::move(key), .request = {}};
    auto& request = call.request.emplace<ClaimCall>();
    request.fingerprint = fingerprint;
    request.terms = terms;
    co_await driver_.submit(call);
    co_return std::move(request.answer);
  }

  Async<void> renew(Key key, Fence fence, Millis lease) override {
    if (Result<void> sound = check_lease(lease); !sound) co_return sound;
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

  void watch(std::function<void(const Digest&)> ended) override { listener_.watch(std::move(ended)); }
  void expect(const Key& key) override { listener_.expect(key.id); }

 private:
  postgres::Listener listener_;  // outlives the driver, which tells it what has ended
  postgres::Driver driver_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_postgres_store(Clock& clock, const PostgresOptions& options) {
  if (options.urls.empty()) return fail(Code::invalid, "a PostgreSQL store needs an address");
  std::vector<std::unique_ptr<Store>> shards;
  for (const std::string& url : options.urls) {
    auto store = std::make_unique<PostgresStore>(clock, url, options);
    const Result<void> started = store->start();
    if (!started) return std::unexpected(started.error());
    shards.push_back(std::move(store));
  }
  Result<std::vector<std::string>> names = postgres::names_of(clock, options.urls, options.time_max);
  if (!names) return std::unexpected(std::move(names.error()));
  if (shards.size() == 1) return std::move(shards.front());
  return postgres::make_sharded_store(std::move(shards), *std::move(names));
}

}  // namespace semel
