// redis+cluster://: every key at its primary, wherever that is by now.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "store/redis/buckets.h"
#include "store/redis/cluster_map.h"
#include "store/redis/fixture.h"
#include "store/redis/layout.h"
#include "support/redis_cluster.h"

namespace semel::test {
namespace {

using store::redis::Buckets;

const Buckets many(core::RedisUrl::Setup::cluster);

class RedisClusters : public RedisTest {
 protected:
  RedisClusters() {
    cluster_.run_everywhere({"FLUSHALL"});
    prepare(options());
  }
  store::redis::RedisOptions options() {
    store::redis::RedisOptions options = options_for(*cluster_.servers().front());
    options.url = cluster_.url();
    options.time_max = Millis{10'000};
    return options;
  }

  RedisCluster& cluster_ = RedisCluster::shared();
};

// The slots are those of Redis itself; each bucket has one of its own, and the tag 0 is among them.
TEST(RedisBuckets, HaveTheSlotsThatTheyNeed) {
  EXPECT_EQ(store::redis::slot_of("123456789"), 0x31C3U);  // of the specification: CRC16 of that text
  EXPECT_EQ(store::redis::slot_of("0"), many.slot(many.first()));
  EXPECT_EQ(many.tag(many.first()), "0");
  std::set<std::uint16_t> slots;
  for (std::size_t bucket = 0; bucket < many.count(); ++bucket) {
    EXPECT_EQ(store::redis::slot_of(many.tag(bucket)), many.slot(bucket));
    EXPECT_EQ(many.of_tag(many.tag(bucket)), bucket);
    slots.insert(many.slot(bucket));
    Key key;
    key.home = many.home(bucket);
    EXPECT_EQ(many.of(key), bucket);
  }
  EXPECT_EQ(slots.size(), 1'024U);
}

// What servers say when a call is for another one.
TEST(RedisBuckets, KnowWhereTheyAreSent) {
  const auto said = [](std::string text) {
    store::redis::RespValue reply;
    reply.kind = store::redis::RespValue::Kind::error;
    reply.text = std::move(text);
    return store::redis::redirection_in(reply);
  };
  const auto moved = said("MOVED 3999 10.0.0.1:6381");
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->slot, 3999U);
  EXPECT_EQ(moved->host, (core::RedisHost{.host = "10.0.0.1", .port = 6381}));
  EXPECT_FALSE(moved->asking);
  EXPECT_TRUE(said("ASK 1 ::1:7000")->asking);
  EXPECT_EQ(said("ASK 1 ::1:7000")->host.host, "::1");
  for (const char* odd : {"MOVED", "MOVED x", "MOVED 1", "MOVED 99999 a:1", "MOVED 1 a:b", "ERR MOVED 1 a:1"}) {
    EXPECT_FALSE(said(odd)) << odd;
  }
}

// Keys are spread over all primaries, and found again by another store.
TEST_F(RedisClusters, HaveEveryKeyOnce) {
  {
    const store::CapableStore opened = open(options());
    for (std::uint64_t i = 1; i <= 300; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok") << i;
  }
  for (const std::size_t primary : cluster_.primaries()) {
    EXPECT_GT(cluster_.servers()[primary]->run({"DBSIZE"}).number, 300) << "markers, and some of the keys";
  }
  const store::CapableStore other = open(options());
  for (std::uint64_t i = 1; i <= 300; ++i) ASSERT_EQ(run_once(*other.store, key_of(i), 1'000 + i), "held") << i;
}

// A slot that is moved, a slot whose beats are moved, and one that is half moved: nothing is lost, nothing runs twice.
TEST_F(RedisClusters, FollowSlotsThatMove) {
  const store::CapableStore opened = open(options());
  Key key = key_of(7);
  const std::uint16_t slot = many.slot(many.of(key));
  const std::size_t from = cluster_.primary_of(slot);
  const std::vector<std::size_t> primaries = cluster_.primaries();
  const std::size_t to = primaries.at(primaries.at(0) == from ? 1 : 0);
  const Result<Claim> running = claim(*opened.store, key, 1);
  ASSERT_TRUE(running);
  cluster_.move_slot(slot, to);
  const Fence fence = std::get<Granted>(*running).fence;
  EXPECT_EQ(said(run(context_, opened.store->complete(key, fence, answer_of("x")))), "ok");
  EXPECT_EQ(run_once(*opened.store, key, 2), "held");
  // The last slot of a primary is the home of its beats: all of them are moved away, and back.
  for (const std::size_t target : {to, from}) {
    for (std::size_t bucket = many.count(); bucket-- > 0;) {
      if (cluster_.primary_of(many.slot(bucket)) == target) continue;
      cluster_.move_slot(many.slot(bucket), target);
      if (bucket + 6 < many.count()) break;
    }
    for (std::uint64_t i = 100; i < 130; ++i) {
      ASSERT_NE(run_once(*opened.store, key_of(i), i + target), "unavailable") << i;
    }
  }
  EXPECT_EQ(lost(), 0U);
}

// While a slot moves its keys are at both ends. Calls for them wait, and find the right end.
TEST_F(RedisClusters, WaitForASlotThatIsHalfMoved) {
  const store::CapableStore opened = open(options());
  const Key key = key_of(9);
  const std::uint16_t slot = many.slot(many.of(key));
  const std::size_t from = cluster_.primary_of(slot);
  const std::vector<std::size_t> primaries = cluster_.primaries();
  const std::size_t to = primaries.at(primaries.at(0) == from ? 1 : 0);
  const Result<Claim> running = claim(*opened.store, key, 1);
  ASSERT_TRUE(running);
  const Fence fence = std::get<Granted>(*running).fence;
  const std::string number = std::to_string(slot);
  cluster_.servers()[to]->run({"CLUSTER", "SETSLOT", number, "IMPORTING", cluster_.id(from)});
  cluster_.servers()[from]->run({"CLUSTER", "SETSLOT", number, "MIGRATING", cluster_.id(to)});
  const std::string name = store::redis::record_name(key.id, many.tag(many.of(key)));
  ASSERT_EQ(cluster_.servers()[from]
                ->run({"MIGRATE", "127.0.0.1", std::to_string(cluster_.port(to)), name, "0", "5000"})
                .text,
            "OK");
  // The record is at the new end, its index is not: a renewal needs only the record, an end needs both.
  EXPECT_EQ(said(run(context_, opened.store->renew(key, fence, Millis{60'000}))), "ok");
  cluster_.move_slot(slot, to);
  EXPECT_EQ(said(run(context_, opened.store->complete(key, fence, answer_of("x")))), "ok");
  EXPECT_EQ(run_once(*opened.store, key, 2), "held");
  EXPECT_EQ(lost(), 0U);
}

// A claim needs the record and the index of its bucket. While one of the two is here and the other there, the server
// says TRYAGAIN: the call waits until the slot has moved, and is made once.
TEST_F(RedisClusters, WaitWhileTheServerSaysTryAgain) {
  const store::CapableStore opened = open(options());
  const Key key = key_of(21);
  const std::size_t bucket = many.of(key);
  const std::uint16_t slot = many.slot(bucket);
  const std::size_t from = cluster_.primary_of(slot);
  const std::vector<std::size_t> primaries = cluster_.primaries();
  const std::size_t to = primaries.at(primaries.at(0) == from ? 1 : 0);
  ASSERT_TRUE(claim(*opened.store, key, 1));
  const std::string number = std::to_string(slot);
  cluster_.servers()[to]->run({"CLUSTER", "SETSLOT", number, "IMPORTING", cluster_.id(from)});
  cluster_.servers()[from]->run({"CLUSTER", "SETSLOT", number, "MIGRATING", cluster_.id(to)});
  const std::string name = store::redis::record_name(key.id, many.tag(bucket));
  ASSERT_EQ(cluster_.servers()[from]
                ->run({"MIGRATE", "127.0.0.1", std::to_string(cluster_.port(to)), name, "0", "5000"})
                .text,
            "OK");
  cluster_.servers()[from]->run({"CONFIG", "RESETSTAT"});
  const store::redis::RespValue both =
      cluster_.servers()[from]->run({"EVAL", "return 1", "2", name, store::redis::index_name(many.tag(bucket))});
  ASSERT_TRUE(both.is_error("TRYAGAIN")) << both.text;
  std::string told = "nothing yet";
  std::thread waiting([&] {
    boost::asio::io_context context;
    Terms terms;
    terms.owner = 2;
    const Result<Claim> second = run(context, opened.store->claim(key, fingerprint_of(1), terms));
    told = second ? (std::holds_alternative<Held>(*second) ? "held" : "granted") : second.error().detail;
  });
  const auto refused = [&] {
    return cluster_.servers()[from]->text({"INFO", "errorstats"}).find("errorstat_TRYAGAIN:count=1,") ==
           std::string::npos;
  };
  EXPECT_TRUE(eventually(refused)) << "ours was the first, then comes that of the store";
  cluster_.move_slot(slot, to);
  waiting.join();
  EXPECT_EQ(told, "held");
  EXPECT_EQ(lost(), 0U);
}

// A slot that nobody serves: the cluster says that it is down. Claims are refused at once, ends wait, and all goes on
// when it is up again.
TEST_F(RedisClusters, RefuseClaimsWhileTheClusterIsDown) {
  const store::CapableStore opened = open(options());
  const Key key = key_of(31);
  const Result<Claim> running = claim(*opened.store, key, 1);
  ASSERT_TRUE(running);
  const std::uint16_t orphan = 1;  // no bucket's
  const std::size_t owner = cluster_.primary_of(orphan);
  for (const auto& server : cluster_.servers()) server->run({"CLUSTER", "DELSLOTS", std::to_string(orphan)});
  const auto is_down = [&] { return said(claim(*opened.store, key_of(32), 2)) == "unavailable"; };
  EXPECT_TRUE(eventually(is_down));
  std::thread mending([&] {
    std::this_thread::sleep_for(Millis{300});
    cluster_.servers()[owner]->run({"CLUSTER", "ADDSLOTS", std::to_string(orphan)});
  });
  EXPECT_EQ(said(run(context_, opened.store->complete(key, std::get<Granted>(*running).fence, answer_of("x")))), "ok");
  mending.join();
  EXPECT_TRUE(eventually([&] { return run_once(*opened.store, key_of(33), 3) == "ok"; }));
  const auto is_up = [&] {
    return std::ranges::all_of(cluster_.servers(), [](const auto& server) {
      return server->text({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
    });
  };
  EXPECT_TRUE(eventually(is_up)) << "all of them know it, for those who come after this test";
  EXPECT_EQ(lost(), 0U);
}

// One part of the cluster is emptied: it is noticed, and its keys are counted; the others go on.
TEST_F(RedisClusters, NoticeAPrimaryThatWasEmptied) {
  const store::CapableStore opened = open(options());
  std::uint64_t there = 0;
  const std::size_t victim = cluster_.primary_of(many.slot(many.of(key_of(1))));
  for (std::uint64_t i = 1; i <= 60; ++i) {
    ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok");
    if (cluster_.primary_of(many.slot(many.of(key_of(i)))) == victim) ++there;
  }
  cluster_.servers()[victim]->run({"FLUSHALL"});
  EXPECT_EQ(run_once(*opened.store, key_of(1), 100), "unavailable");  // also over a connection that had no call yet
  EXPECT_TRUE(eventually([&] { return lost() == 2 * there; })) << lost() << " of " << 2 * there;
  std::uint64_t held = 0;
  for (std::uint64_t i = 1; i <= 60; ++i) held += run_once(*opened.store, key_of(i), 200 + i) == "held" ? 1 : 0;
  EXPECT_EQ(held, 60 - there);
}

// The wrong kind of address is answered with the right one.
TEST_F(RedisClusters, AreNotTakenForASingleServer) {
  store::redis::RedisOptions wrong = options();
  wrong.url = "redis://127.0.0.1:" + std::to_string(cluster_.port(cluster_.primaries().front()));
  EXPECT_NE(refusal(wrong).find("its address is redis+cluster://"), std::string::npos) << refusal(wrong);
  const std::string port = std::to_string(free_port());
  const RedisServer single({"port " + port, "bind 127.0.0.1"});
  wrong.url = "redis+cluster://127.0.0.1:" + port;
  EXPECT_NE(refusal(wrong).find("its address is redis://"), std::string::npos) << refusal(wrong);
  const auto report = store::redis::inspect_redis(*clock_, options());
  ASSERT_TRUE(report);
  EXPECT_NE(report->promises.at(1).find("store.replicas = 0"), std::string::npos) << report->promises.at(1);
}

}  // namespace
}  // namespace semel::test
