// Servers that do not keep what was acknowledged are refused, at the start and while the store runs.

#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "store/redis/fixture.h"
#include "store/redis/server.h"

namespace semel::test {
namespace {

class RedisRefusal : public RedisTest {
 protected:
  static bool mentions(const std::string& text, std::string_view words) {
    return text.find(words) != std::string::npos;
  }
};

// A server that nobody has prepared is empty, or another one than was meant.
TEST_F(RedisRefusal, AnUnpreparedServer) {
  RedisServer server;
  const store::redis::RedisOptions options = options_for(server);
  EXPECT_TRUE(mentions(refusal(options), "semel migrate")) << refusal(options);
  prepare(options);
  EXPECT_EQ(refusal(options), "");
  EXPECT_EQ(store::redis::prepare_redis(*clock_, options), false) << "once is enough";
}

// Each setting with which acknowledged keys vanish, with what to do about it.
TEST_F(RedisRefusal, SettingsThatLoseKeys) {
  RedisServer server;
  store::redis::RedisOptions options = options_for(server);
  prepare(options);
  server.run({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  EXPECT_TRUE(mentions(refusal(options), "noeviction")) << refusal(options);
  server.run({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  options.fsync = core::RedisFsync::always;
  EXPECT_TRUE(mentions(refusal(options), "appendfsync is everysec")) << refusal(options);
  server.run({"CONFIG", "SET", "appendfsync", "always"});
  EXPECT_EQ(refusal(options), "");
  server.run({"CONFIG", "SET", "no-appendfsync-on-rewrite", "yes"});
  EXPECT_TRUE(mentions(refusal(options), "no-appendfsync-on-rewrite")) << refusal(options);
  server.run({"CONFIG", "SET", "no-appendfsync-on-rewrite", "no"});
  options.replicas = 1;
  EXPECT_TRUE(mentions(refusal(options), "0 replica(s)")) << refusal(options);
  options.replicas = 0;
  server.run({"CONFIG", "SET", "appendfsync", "no"});
  EXPECT_TRUE(mentions(refusal(options), "appendfsync is no ")) << refusal(options);
  server.run({"CONFIG", "SET", "appendonly", "no"});
  EXPECT_TRUE(mentions(refusal(options), "appendonly yes")) << refusal(options);
  options.fsync = core::RedisFsync::unknown;
  EXPECT_EQ(refusal(options), "");
}

// A replica, and a server that is part of a cluster.
TEST_F(RedisRefusal, TheWrongKindOfServer) {
  RedisServer server;
  const store::redis::RedisOptions options = options_for(server);
  prepare(options);
  server.run({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_TRUE(mentions(refusal(options), "replica")) << refusal(options);
  RedisServer member(
      {"cluster-enabled yes", "port " + std::to_string(free_port()), "cluster-port " + std::to_string(free_port())});
  EXPECT_TRUE(mentions(refusal(options_for(member)), "cluster")) << refusal(options_for(member));
}

// By what it says of itself: these cannot be started here.
TEST_F(RedisRefusal, AnOldVersion) {
  store::redis::RedisFacts facts;
  facts.version = "6.2.14";
  facts.primary = true;
  facts.policy = "noeviction";
  const store::redis::RedisDemands demands{.replicas = 0, .fsync = core::RedisFsync::unknown};
  EXPECT_FALSE(store::redis::admit(facts, demands));
  for (const char* version : {"7.0.0", "8.1.2", "10.0.0"}) {
    facts.version = version;
    EXPECT_TRUE(store::redis::admit(facts, demands)) << version;
  }
}

// A policy that is changed while the store runs is noticed: no new keys, but what runs may end.
TEST_F(RedisRefusal, IsLookedAtAgain) {
  RedisServer server;
  const store::redis::RedisOptions options = options_for(server);
  prepare(options);
  store::CapableStore opened = open(options);
  Store& store = *opened.store;
  const Result<Claim> running = claim(store, key_of(1), 1);
  ASSERT_TRUE(running);
  server.run({"CONFIG", "SET", "maxmemory-policy", "allkeys-random"});
  std::uint64_t number = 10;
  Result<Claim> claimed;
  const auto takes_claims = [&] {
    ++number;
    claimed = claim(store, key_of(number), number);
    return claimed.has_value();
  };
  ASSERT_TRUE(eventually([&] { return !takes_claims(); }));
  EXPECT_TRUE(mentions(claimed.error().detail, "noeviction")) << claimed.error().detail;
  EXPECT_TRUE(run(context_, store.complete(key_of(1), std::get<Granted>(*running).fence, answer_of("x"))));
  server.run({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_TRUE(eventually(takes_claims));
}

// A server that was emptied under a running store answers nothing any more, and what it had is counted as lost.
TEST_F(RedisRefusal, AnEmptiedServer) {
  RedisServer server;
  const store::redis::RedisOptions options = options_for(server);
  prepare(options);
  store::CapableStore opened = open(options);
  for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok");
  server.run({"FLUSHALL"});
  EXPECT_EQ(run_once(*opened.store, key_of(1), 100), "unavailable");
  const Result<Claim> refused = claim(*opened.store, key_of(2), 101);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(mentions(refused.error().detail, "marker")) << refused.error().detail;
  EXPECT_TRUE(eventually([&] { return lost() == 40; })) << lost();
  EXPECT_EQ(server.run({"GET", "semel:{0}:store"}).kind, store::redis::RespValue::Kind::nothing);
}

}  // namespace
}  // namespace semel::test
