// What the tests of the PostgreSQL store share: a database of their own, a store on it, and calls from outside any
// coroutine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "store/contract.h"
#include "store/crew.h"
#include "store/postgres/own_connection.h"
#include "support/postgres_server.h"
#include "support/run.h"
#include <semel/clock.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::test {

class PostgresTest : public testing::Test {
 protected:
  // On PostgresServer::shared() unless the test has a server of its own.
  void open(const std::string& url, Millis time_max = Millis{5'000}, std::size_t connections = 4) {
    store_.reset();
    auto store = try_open(url, time_max, connections);
    ASSERT_TRUE(store) << store.error().detail;
    store_ = std::move(store->store);
  }
  Result<OpenedStore> try_open(const std::string& url, Millis time_max = Millis{5'000}, std::size_t connections = 4) {
    PostgresOptions options;
    options.urls = {url};
    options.time_max = time_max;
    options.connections = connections;
    return open_postgres_store(*clock_, options);
  }

  static Key key_of(std::uint64_t number) {
    auto key = make_key("orders", "tenant", "key " + std::to_string(number));
    return *key;
  }
  static Terms terms_of(std::uint64_t owner) {
    Terms terms;
    terms.lease = ample;
    terms.ttl = ample;
    terms.owner = owner;
    return terms;
  }
  Result<Claim> claim(const Key& key, std::uint64_t owner) {
    return run(context_, store_->claim(key, fingerprint_of(1), terms_of(owner)));
  }
  Fence take(const Key& key, std::uint64_t owner) {
    const Result<Claim> claimed = claim(key, owner);
    if (!claimed) throw std::runtime_error(claimed.error().detail);
    return std::get<Granted>(*claimed).fence;
  }
  Result<void> complete(const Key& key, Fence fence, SharedResponse response = answer_of("kept")) {
    return run(context_, store_->complete(key, fence, std::move(response)));
  }

  // A call from a thread of its own, to be looked at while it waits.
  std::future<Result<Claim>> claim_later(const Key& key, std::uint64_t owner) {
    return std::async(std::launch::async, [this, key, owner] {
      boost::asio::io_context context{1};
      return run(context, store_->claim(key, fingerprint_of(1), terms_of(owner)));
    });
  }
  static bool ready(const std::future<Result<Claim>>& future) {
    return future.wait_for(Millis{0}) == std::future_status::ready;
  }
  // Starts calls that gather into one batch: the first one waits for a lock, and has the only connection. When it has
  // the lock, `meanwhile` is called beside them.
  void gather(
      const std::string& url, const std::function<void(boost::asio::io_context&)>& start_all,
      const std::function<void()>& meanwhile = [] {}) {
    const DatabaseConnection gate(url);
    gate.run("SELECT pg_advisory_lock(7309455314)");
    crew_.run(2, [&](std::size_t thread, boost::asio::io_context& context) {
      if (thread == 0) {
        start_all(context);
        context.run();
      } else {
        std::this_thread::sleep_for(Millis{100});
        gate.run("SELECT pg_advisory_unlock(7309455314)");
        meanwhile();
      }
    });
  }

  // Waits until `holds`, at most ten seconds.
  static bool soon(const std::function<bool()>& holds) {
    for (int i = 0; i < 1'000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(Millis{10});
    }
    return false;
  }
  [[nodiscard]] Millis since(Time begun) const { return clock_->now() - begun; }

  boost::asio::io_context context_{1};
  Crew crew_;
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Store> store_;
};

}  // namespace semel::test
