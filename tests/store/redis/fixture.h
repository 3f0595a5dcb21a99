// What the tests of the Redis store share: a server of their own, and a store on it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "store/capable_store.h"
#include "store/contract.h"
#include "store/redis/admin.h"
#include "support/redis_server.h"
#include "support/run.h"
#include <semel/clock.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::test {

class RedisTest : public testing::Test {
 protected:
  static Key key_of(std::uint64_t number) {
    Key key;
    for (std::size_t i = 0; i < 8; ++i) key.id[i] = static_cast<std::uint8_t>(number >> (8 * i));
    key.space = "orders";
    return key;
  }

  store::redis::RedisOptions options_for(const RedisServer& server) {
    store::redis::RedisOptions options;
    options.url = server.url();
    options.time_max = Millis{2'000};
    options.fsync = core::RedisFsync::everysec;
    options.on_lost = [this](const store::redis::RedisLoss& loss) {
      const std::scoped_lock lock(mutex_);
      lost_ += loss.calls;
    };
    return options;
  }
  void prepare(const store::redis::RedisOptions& options) {
    const Result<bool> prepared = store::redis::prepare_redis(*clock_, options);
    if (!prepared) throw std::runtime_error(prepared.error().detail);
  }
  store::CapableStore open(const store::redis::RedisOptions& options) {
    Result<store::CapableStore> opened = store::redis::open_with_keys(*clock_, options, {});
    if (!opened) throw std::runtime_error(opened.error().detail);
    return *std::move(opened);
  }
  // Why the store does not open; empty if it does.
  std::string refusal(const store::redis::RedisOptions& options) {
    const Result<store::CapableStore> opened = store::redis::open_with_keys(*clock_, options, {});
    return opened ? std::string() : opened.error().detail;
  }

  Result<Claim> claim(Store& store, const Key& key, std::uint64_t owner) {
    Terms terms;
    terms.owner = owner;
    return run(context_, store.claim(key, fingerprint_of(1), terms));
  }
  // Claims and ends a key. "ok", or what went wrong.
  std::string run_once(Store& store, const Key& key, std::uint64_t owner, const std::string& body = "done") {
    const Result<Claim> claimed = claim(store, key, owner);
    if (!claimed) return std::string(said(claimed));
    const auto* granted = std::get_if<Granted>(&*claimed);
    if (granted == nullptr) return "held";
    return std::string(said(run(context_, store.complete(key, granted->fence, answer_of(body)))));
  }
  std::uint64_t lost() {
    const std::scoped_lock lock(mutex_);
    return lost_;
  }
  // Waits for up to twenty seconds until `holds` does.
  template <class Holds>
  bool eventually(const Holds& holds) {
    for (int i = 0; i < 400; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(Millis{50});
    }
    return false;
  }

  boost::asio::io_context context_{1};
  std::unique_ptr<Clock> clock_ = make_system_clock();

 private:
  std::mutex mutex_;
  std::uint64_t lost_ = 0;
};

}  // namespace semel::test
