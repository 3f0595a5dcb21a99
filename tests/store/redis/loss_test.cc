// What a server forgets in a restart is noticed: exactly, once, and by those who must stop.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "store/redis/fixture.h"
#include "store/redis/resp.h"
#include "store/redis/scripts.h"

namespace semel::test {
namespace {

class RedisLosses : public RedisTest {
 protected:
  static std::filesystem::path log_of(const RedisServer& server) {
    return server.folder() / "appendonlydir" / "appendonly.aof.1.incr.aof";
  }
  // The calls that the lines of accept_redis_losses() name: "PROCESS N call(s) since TIME".
  static int calls_in(const std::string& text) {
    int calls = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) calls += std::stoi(line.substr(line.find(' ')));
    return calls;
  }
  // The server restarts, and its log ends where it ended when it had `bytes`.
  static void forget(RedisServer& server, std::uintmax_t bytes) {
    server.crash();
    std::filesystem::resize_file(log_of(server), bytes);
    server.start();
  }
};

// Twenty keys end, the last ten of them are forgotten: twenty calls are reported lost, and no more.
TEST_F(RedisLosses, AreCountedExactly) {
  RedisServer server({"appendfsync always"});
  const store::redis::RedisOptions options = options_for(server);
  prepare(options);
  store::CapableStore opened = open(options);
  for (std::uint64_t i = 1; i <= 10; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok");
  const std::uintmax_t half = std::filesystem::file_size(log_of(server));
  for (std::uint64_t i = 11; i <= 20; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok");
  forget(server, half);
  EXPECT_TRUE(eventually([&] { return run_once(*opened.store, key_of(99), 99) == "ok"; }));
  EXPECT_TRUE(eventually([&] { return lost() == 20; })) << lost();
  EXPECT_EQ(run_once(*opened.store, key_of(10), 100), "held") << "it was before that";
  EXPECT_EQ(run_once(*opened.store, key_of(11), 101), "ok") << "it is forgotten, and runs again";
  forget(server, std::filesystem::file_size(log_of(server)));
  EXPECT_TRUE(eventually([&] { return run_once(*opened.store, key_of(98), 98) == "ok"; }));
  EXPECT_EQ(lost(), 20U) << "a restart that forgets nothing is no loss";
}

// A batch that the network has held back arrives after those that followed over a new connection. Its number is lower,
// and nothing is lost.
TEST_F(RedisLosses, AreNotSeenInABatchThatComesLate) {
  RedisServer server({"appendfsync always"});
  const store::redis::RedisOptions options = options_for(server);
  prepare(options);
  store::CapableStore opened = open(options);
  for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok");
  const std::string& beat = store::redis::scripts().at(static_cast<std::size_t>(store::redis::Script::beat));
  const store::redis::RespValue names = server.run({"KEYS", "semel:{0}:beat:*"});
  ASSERT_FALSE(names.items.empty());
  for (const store::redis::RespValue& name : names.items) server.run({"EVAL", beat, "1", name.text, "1"});
  for (std::uint64_t i = 21; i <= 40; ++i) EXPECT_EQ(run_once(*opened.store, key_of(i), i), "ok");
  EXPECT_EQ(lost(), 0U);
}

// A holder whose claim was forgotten cannot end it, though somebody else now has the same number.
TEST_F(RedisLosses, DoNotGiveAKeyToItsFormerHolder) {
  RedisServer server({"appendfsync always"});
  const store::redis::RedisOptions options = options_for(server);
  prepare(options);
  store::CapableStore opened = open(options);
  ASSERT_EQ(run_once(*opened.store, key_of(1), 1), "ok");
  const std::uintmax_t before = std::filesystem::file_size(log_of(server));
  const Result<Claim> first = claim(*opened.store, key_of(2), 2);
  ASSERT_TRUE(first);
  forget(server, before);
  Result<Claim> second;
  ASSERT_TRUE(eventually([&] { return (second = claim(*opened.store, key_of(2), 3)).has_value(); }));
  const Fence old = std::get<Granted>(*first).fence;
  EXPECT_EQ(std::get<Granted>(*second).fence.number, old.number);
  EXPECT_EQ(said(run(context_, opened.store->complete(key_of(2), old, answer_of("late")))), "fenced");
}

// With on_loss = "stop" nobody takes a claim until an operator has looked: not this store, not one that is opened
// afterwards, and not another that has noticed nothing. What runs may end.
TEST_F(RedisLosses, StopUntilSomebodyHasLooked) {
  RedisServer server({"appendfsync always"});
  store::redis::RedisOptions options = options_for(server);
  options.on_loss = core::RedisOnLoss::stop;
  prepare(options);
  store::CapableStore opened = open(options);
  const Result<Claim> running = claim(*opened.store, key_of(1), 1);
  ASSERT_TRUE(running);
  const std::uintmax_t before = std::filesystem::file_size(log_of(server));
  ASSERT_EQ(run_once(*opened.store, key_of(2), 2), "ok");
  forget(server, before);
  EXPECT_TRUE(eventually([&] { return lost() == 2; })) << lost();
  const auto stops = [&](store::CapableStore& each) {
    return eventually([&] {
      const Result<Claim> refused = claim(*each.store, key_of(3), 3);
      return !refused && refused.error().detail.find("--accept-loss") != std::string::npos;
    });
  };
  EXPECT_TRUE(stops(opened));
  EXPECT_EQ(said(run(context_, opened.store->complete(key_of(1), std::get<Granted>(*running).fence, answer_of("x")))),
            "ok");
  store::redis::RedisOptions other = options;
  store::CapableStore later = open(other);
  EXPECT_TRUE(stops(later));
  const Result<std::string> told = store::redis::accept_redis_losses(*clock_, options);
  ASSERT_TRUE(told);
  EXPECT_EQ(calls_in(*told), 2) << *told;
  EXPECT_TRUE(eventually([&] { return run_once(*opened.store, key_of(4), 4) == "ok"; }));
  EXPECT_TRUE(eventually([&] { return run_once(*later.store, key_of(5), 5) == "ok"; }));
  EXPECT_EQ(store::redis::accept_redis_losses(*clock_, options), "");
}

}  // namespace
}  // namespace semel::test
