// redis+sentinel://: the primary is asked for on every connection, and a promotion is followed.

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "store/redis/fixture.h"
#include "store/redis/layout.h"
#include "support/redis_set.h"

namespace semel::test {
namespace {

class RedisSentinels : public RedisTest {
 protected:
  store::redis::RedisOptions options_of(RedisWithSentinel& set) {
    store::redis::RedisOptions options = options_for(set.primary());
    options.url = set.url();
    return options;
  }
  static bool has_answer(const RedisServer& server, const Key& key) {
    const std::string value = server.run({"GET", store::redis::record_name(key.id)}).text;
    return value.size() > 1 && value[1] == 'd';
  }
  // The replica has them, too.
  store::CapableStore open_with_five_keys(RedisWithSentinel& set) {
    const store::redis::RedisOptions options = options_of(set);
    prepare(options);
    store::CapableStore opened = open(options);
    for (std::uint64_t i = 1; i <= 5; ++i) EXPECT_EQ(run_once(*opened.store, key_of(i), i), "ok");
    EXPECT_TRUE(eventually([&] { return has_answer(set.replica(), key_of(5)); }));
    return opened;
  }
};

// The primary dies. Claims are refused soon, and taken again soon after the replica was promoted. What was acknowledged
// by all replicas is still there, and nobody speaks of a loss.
TEST_F(RedisSentinels, LeadToThePromotedReplica) {
  RedisWithSentinel set;
  store::redis::RedisOptions options = options_of(set);
  options.replicas = 1;
  prepare(options);
  {
    const store::CapableStore before = open(options);
    // A replica that has just come acknowledges for the first time up to a second later.
    ASSERT_TRUE(eventually([&] { return claim(*before.store, key_of(900), 900).has_value(); }));
    for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_EQ(run_once(*before.store, key_of(i), i), "ok");
  }
  options.replicas = 0;  // there is none left after the promotion
  store::CapableStore opened = open(options);
  for (std::uint64_t i = 21; i <= 40; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok");
  ASSERT_TRUE(eventually([&] { return has_answer(set.replica(), key_of(40)); }));
  set.primary().crash();
  EXPECT_TRUE(eventually([&] { return run_once(*opened.store, key_of(50), 50) == "unavailable"; }));
  ASSERT_TRUE(eventually([&] { return set.replica().run({"ROLE"}).items.at(0).text == "master"; }));
  EXPECT_TRUE(eventually([&] { return run_once(*opened.store, key_of(51), 51) == "ok"; }));
  for (std::uint64_t i = 1; i <= 40; ++i) EXPECT_EQ(run_once(*opened.store, key_of(i), 100 + i), "held") << i;
  EXPECT_EQ(lost(), 0U);
}

// The promoted replica had been cut off: what it lacks is counted.
TEST_F(RedisSentinels, WhatThePromotedReplicaLacksIsCounted) {
  RedisWithSentinel set;
  store::CapableStore opened = open_with_five_keys(set);
  set.replica().run({"REPLICAOF", "127.0.0.1", "1"});
  for (std::uint64_t i = 11; i <= 20; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok");
  set.primary().crash();
  EXPECT_TRUE(eventually([&] { return run_once(*opened.store, key_of(51), 51) == "ok"; }));
  EXPECT_TRUE(eventually([&] { return lost() == 20; })) << lost();
}

// The primary is replaced by those who do not reach it any more, while we still do. The gateway goes where the Sentinel
// leads, and counts what it wrote meanwhile as lost.
TEST_F(RedisSentinels, APrimaryThatWasReplacedBehindOurBackIsLeft) {
  RedisWithSentinel set;
  store::CapableStore opened = open_with_five_keys(set);
  std::this_thread::sleep_for(Millis{11'000});  // it has looked at its primary once, and keeps that connection
  const std::string port = set.replica().run({"CONFIG", "GET", "port"}).items.at(1).text;
  set.replica().run({"REPLICAOF", "NO", "ONE"});
  ASSERT_NE(set.ask("SENTINEL REMOVE main").find("OK"), std::string::npos);
  ASSERT_NE(set.ask("SENTINEL MONITOR main 127.0.0.1 " + port + " 1").find("OK"), std::string::npos);
  for (std::uint64_t i = 11; i <= 20; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok");
  std::uint64_t next = 100;
  EXPECT_TRUE(eventually([&] {
    const Key key = key_of(++next);
    return run_once(*opened.store, key, next) == "ok" && has_answer(set.replica(), key);
  }));
  EXPECT_GE(lost(), 20U);
  EXPECT_EQ(run_once(*opened.store, key_of(5), 6), "held");
}

// A name that the Sentinels do not know, Sentinels that are not there, and one of several that is.
TEST_F(RedisSentinels, ThatDoNotKnow) {
  RedisWithSentinel& set = RedisWithSentinel::shared();
  store::redis::RedisOptions options = options_of(set);
  set.primary().run({"FLUSHALL"});
  prepare(options);
  const std::string sentinel = set.url().substr(0, set.url().rfind('/'));
  options.url = sentinel + "/other";
  EXPECT_NE(refusal(options).find("knows of no primary"), std::string::npos) << refusal(options);
  options.url = "redis+sentinel://127.0.0.1:1/main";
  EXPECT_NE(refusal(options).find("a Sentinel"), std::string::npos) << refusal(options);
  options.url = "redis+sentinel://127.0.0.1:1," + sentinel.substr(sentinel.rfind('/') + 1) + "/main";
  EXPECT_EQ(refusal(options), "");
  options.url = sentinel.substr(0, 5) + sentinel.substr(sentinel.find("://"));
  EXPECT_NE(refusal(options), "") << "a Sentinel is no server";
}

}  // namespace
}  // namespace semel::test
