// Random histories: the scripts answer as core/transition.h does, to the millisecond.
//
// The scripts are those of the store, except that they ask a key for the time. So the test turns the clock of the
// server, and the reference store, which is core/transition.h and a map, goes by the same one.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <gtest/gtest.h>

#include "core/redis_url.h"
#include "store/batched_store.h"
#include "store/memory.h"
#include "store/redis/batch.h"
#include "store/redis/connection.h"
#include "store/redis/fixture.h"
#include "store/redis/scripts.h"
#include "store/waiting.h"
#include "support/virtual_clock.h"

namespace semel::test {
namespace {

using store::redis::RespValue;

// Far ahead, so that the server itself lets nothing expire.
constexpr Time start{Millis{4'102'444'800'000}};
constexpr std::string_view asks_for_time = "redis.call('TIME')";

class FrozenStore : public store::BatchedStore {
 public:
  FrozenStore(const RedisServer& server, const Clock& turned)
      : BatchedStore(1), turned_(turned), real_(make_system_clock()), connection_(connect(server)) {
    for (std::size_t i = 0; i < store::redis::script_count; ++i) {
      std::string script = store::redis::scripts().at(i);
      const std::size_t at = script.find(asks_for_time);
      if (at != std::string::npos)
        script.replace(at, asks_for_time.size(), "{redis.call('GET', 'clock:s'), redis.call('GET', 'clock:u')}");
      hashes_.at(i) = ask({"SCRIPT", "LOAD", script}).text;
    }
  }

 private:
  store::redis::RedisConnection connect(const RedisServer& server) const {
    const Result<core::RedisUrl> url = core::parse_redis_url(server.url());
    return store::redis::RedisConnection::open(*real_, *url, {}, Millis{5'000}).value();
  }
  RespValue ask(std::initializer_list<std::string_view> words) {
    return connection_.ask(*real_, words, Millis{5'000}).value();
  }

  // One at a time, until it is settled.
  void answer(store::redis::RedisEntry& entry) {
    const std::int64_t now = turned_.now().time_since_epoch().count();
    ask({"MSET", "clock:s", std::to_string(now / 1'000), "clock:u", std::to_string(now % 1'000 * 1'000)});
    for (int tries = 0; tries < 20; ++tries) {
      std::string out;
      store::redis::RedisEntry* const alone = &entry;
      const std::size_t count = store::redis::append_calls(out, hashes_, {&alone, 1}, memory_);
      std::vector<RespValue> replies = connection_.ask(*real_, out, count, Millis{5'000}).value();
      std::optional<Error> trouble;
      if (store::redis::read_call(entry, replies, memory_, trouble) != store::redis::Fate::again) return;
    }
  }

  Task<void> submit(store::StoreCall& call) override {
    auto go = [this, &call](store::AnswerHandler handler) {
      boost::asio::executor_work_guard<Executor> work(boost::asio::get_associated_executor(handler));
      store::redis::RedisEntry entry{
          .waiting = std::make_unique<store::Waiting>(&call, std::move(handler), std::move(work)), .deadline = Time{}};
      entry.token = std::to_string(100 + (++tokens_ % 900));
      answer(entry);
      store::Wakes wakes;
      wakes.add(std::move(*entry.waiting));
      wakes.post();
    };
    return boost::asio::async_initiate<const store::AnswerToken&, void()>(std::move(go), store::AnswerToken{});
  }

  const Clock& turned_;
  const std::unique_ptr<Clock> real_;
  store::redis::RedisConnection connection_;
  store::redis::ScriptHashes hashes_;
  store::redis::BatchMemory memory_;
  std::uint64_t tokens_ = 0;
};

std::string text_of(const Held& held) {
  const Record& record = held.record;
  return "held " + std::to_string(static_cast<int>(record.state)) + " " + std::to_string(record.fence.number) + "/" +
         std::to_string(record.fence.owner) + " " + std::to_string(record.claimed_at.time_since_epoch().count()) + " " +
         std::to_string(record.expires_at.time_since_epoch().count()) + " left " +
         std::to_string(held.lease_left.count()) + " " + (record.doubted ? "doubted " : "") +
         (record.response == nullptr ? "-" : record.response->body) + " " + std::to_string(record.key.id[0]) +
         std::to_string(record.fingerprint.digest[0]);
}

struct ToText {
  std::string operator()(const Granted& granted) const {
    return "granted " + std::to_string(granted.fence.number) + "/" + std::to_string(granted.fence.owner) + " " +
           std::to_string(granted.expires_at.time_since_epoch().count());
  }
  std::string operator()(const Held& held) const { return text_of(held); }
  std::string operator()(const Superseded&) const { return "superseded"; }
  std::string operator()(const Busy& busy) const { return "busy " + text_of(busy.other); }
};

template <class T>
std::string text_of(const Result<T>& result) {
  if (!result) return std::string(code_name(result.error().code));
  if constexpr (std::is_same_v<T, Claim>) return std::visit(ToText{}, *result);
  if constexpr (std::is_same_v<T, std::optional<Held>>) return *result ? text_of(**result) : "nothing";
  if constexpr (std::is_same_v<T, bool>) return *result ? "yes" : "no";
  return "ok";
}

class RedisHistories : public RedisTest {
 protected:
  // What both stores answer to the same random call.
  std::pair<std::string, std::string> step() {
    const Key key = key_at(pick(0, 4));
    switch (pick(0, 9)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return claim_both(key);
      case 4:
        return both([&](auto& each) { return each.renew(key, fence_, Millis{span_}); });
      case 5:
        return both([&](auto& each) { return each.complete(key, fence_, answer_of(body_)); });
      case 6:
        return both([&](auto& each) { return each.complete(key, fence_, nullptr); });
      case 7:
        return both([&](auto& each) { return each.release(key, fence_); });
      case 8:
        return both([&](auto& each) { return each.look_up(key); });
      default:
        return both([&](auto& each) { return each.reopen(key); });
    }
  }

  std::pair<std::string, std::string> claim_both(const Key& key) {
    Terms terms;
    terms.owner = pick(1, 6);
    terms.lease = Millis{pick(1, 400)};
    terms.ttl = Millis{pick(1, 1'500)};
    terms.lapsed = pick(0, 1) == 0 ? Terms::Lapsed::stands : Terms::Lapsed::taken_over;
    if (pick(0, 4) == 0) terms.only_over = fence_;
    if (pick(0, 2) == 0) {
      const Order order{.object = key_at(9), .stamp = std::to_string(pick(1, 5)), .company = pick(0, 2)};
      terms.order = std::make_shared<const Order>(order);
    }
    const Fingerprint fingerprint = fingerprint_of(static_cast<std::uint8_t>(pick(1, 2)));
    auto answers = both([&](auto& each) { return each.claim(key, fingerprint, terms); });
    const Result<std::optional<Held>> held = run(context_, reference_.lookup->look_up(key));
    if (held && *held && pick(0, 1) == 0) fence_ = (**held).record.fence;
    return answers;
  }

  template <class Call>
  std::pair<std::string, std::string> both(const Call& call) {
    span_ = static_cast<std::int64_t>(pick(1, 500));
    body_ = "answer " + std::to_string(pick(1, 1'000));
    return {text_of(run(context_, call(reference()))), text_of(run(context_, call(frozen_)))};
  }

  struct Reference {
    store::CapableStore& opened;
    auto claim(Key key, Fingerprint fingerprint, Terms terms) {
      return opened.store->claim(std::move(key), fingerprint, std::move(terms));
    }
    auto renew(Key key, Fence fence, Millis lease) { return opened.store->renew(std::move(key), fence, lease); }
    auto complete(Key key, Fence fence, SharedResponse response) {
      return opened.store->complete(std::move(key), fence, std::move(response));
    }
    auto release(Key key, Fence fence) { return opened.store->release(std::move(key), fence); }
    auto look_up(Key key) { return opened.lookup->look_up(std::move(key)); }
    auto reopen(Key key) { return opened.reopening->reopen(std::move(key)); }
  };
  Reference& reference() { return front_; }

  static Key key_at(std::uint64_t number) { return key_of(number + 1); }
  std::uint64_t pick(std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(chance_);
  }

  std::mt19937_64 chance_;
  VirtualClock turned_{start};
  Fence fence_{.number = 1, .owner = 1};
  std::int64_t span_ = 1;
  std::string body_;
  RedisServer server_;
  store::CapableStore reference_ = store::make_capable_memory_store(turned_);
  Reference front_{reference_};
  FrozenStore frozen_{server_, turned_};
};

// Every answer is the same: states, fences, times to the millisecond, bytes.
TEST_F(RedisHistories, AreThoseOfTheReference) {
  std::size_t granted = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    chance_.seed(seed);
    turned_.advance(Millis{10'000'000'000});  // nothing of the last one is left
    std::string told;
    for (int i = 0; i < 1'500; ++i) {
      const auto [expected, found] = step();
      told += expected + "\n";
      ASSERT_EQ(found, expected) << "seed " << seed << ", call " << i << ", after\n"
                                 << told.substr(told.size() < 600 ? 0 : told.size() - 600);
      granted += expected.starts_with("granted") ? 1 : 0;
      if (pick(0, 2) == 0) turned_.advance(Millis{pick(0, 150)});
    }
  }
  EXPECT_GT(granted, 200U);
}

}  // namespace
}  // namespace semel::test
