// Several databases as one store: every key has one home, and nobody goes by another set than the others.

#include "store/postgres_shards.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "store/postgres_fixture.h"
#include "support/postgres_server.h"
#include <semel/postgres.h>

namespace semel::test {
namespace {

// Keys spread evenly, whatever the order of the names; one more shard takes its share and moves nothing else.
TEST(Rendezvous, MovesOnlyWhatTheNewShardTakes) {
  const std::vector<std::string> three{"a", "b", "c"};
  const std::vector<std::string> turned{"c", "a", "b"};
  const std::vector<std::string> four{"a", "b", "c", "d"};
  std::array<int, 4> count{};
  for (std::uint64_t i = 0; i < 4'000; ++i) {
    const Key id = *make_key("space", "", std::to_string(i));
    const std::size_t home = postgres::shard_of(id, three);
    EXPECT_EQ(turned[postgres::shard_of(id, turned)], three[home]);
    const std::size_t later = postgres::shard_of(id, four);
    EXPECT_TRUE(later == home || later == 3);
    ++count.at(later);
  }
  for (const int share : count) EXPECT_NEAR(share, 1'000, 150);
}

class PostgresShards : public PostgresTest {
 protected:
  Result<std::unique_ptr<Store>> try_open_all(const std::vector<std::string>& urls) {
    PostgresOptions options;
    options.urls = urls;
    return open_postgres_store(*clock_, options);
  }
  PostgresServer& server_ = PostgresServer::shared();
};

// Keys are shared out, found again by a store that names the shards in another order, and swept everywhere.
TEST_F(PostgresShards, KeysAreSharedOutAndFoundAgain) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  ASSERT_TRUE(join_postgres_shards(*clock_, {one, two}));
  auto opened = try_open_all({one, two});
  ASSERT_TRUE(opened) << opened.error().detail;
  store_ = *std::move(opened);
  for (std::uint64_t i = 0; i < 40; ++i) {
    ASSERT_EQ(said(complete(key_of(i), take(key_of(i), i + 1), answer_of(std::to_string(i)))), "ok");
  }
  store_.reset();
  for (const std::string& url : {one, two}) {
    const std::string database = url.substr(url.find("test_"), url.find('?') - url.find("test_"));
    EXPECT_GT(std::stoi(server_.run("SELECT count(*) FROM semel.keys", database)), 5);
    server_.run("UPDATE semel.keys SET expires_at = now() + interval '1 second'", database);
  }

  opened = try_open_all({two, one});
  ASSERT_TRUE(opened) << opened.error().detail;
  store_ = *std::move(opened);
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Result<Claim> claimed = claim(key_of(i), 1'000 + i);
    ASSERT_EQ(said(claimed), "ok");
    EXPECT_EQ(std::get<Held>(*claimed).record.response->body, std::to_string(i));
  }
  std::this_thread::sleep_for(Millis{1'100});
  EXPECT_EQ(*run(context_, store_->sweep(100)), 40U);
}

// Events of one object live with it in one shard, whatever their own ids, so that they can be judged together.
TEST_F(PostgresShards, AnObjectAndItsEventsLiveTogether) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  ASSERT_TRUE(join_postgres_shards(*clock_, {one, two}));
  auto opened = try_open_all({one, two});
  ASSERT_TRUE(opened) << opened.error().detail;
  store_ = *std::move(opened);
  for (std::uint64_t i = 0; i < 20; ++i) {
    Order order{.object = key_of(1'000 + i), .stamp = "5"};
    order.object.home = i + 1;
    Terms terms{.lapsed = Lapsed::taken_over, .owner = i + 1};
    const auto claim_at = [&](std::uint64_t number, const char* stamp) {
      Key key = key_of(number);
      key.home = order.object.home;
      order.stamp = stamp;
      terms.order = std::make_shared<const Order>(order);
      return run(context_, store_->claim(key, fingerprint_of(1), terms));
    };
    Key newer = key_of(100 * (i + 1));
    newer.home = order.object.home;
    const Result<Claim> granted = claim_at(100 * (i + 1), "5");
    ASSERT_EQ(said(granted), "ok");
    terms.owner += 1'000;
    EXPECT_TRUE(std::holds_alternative<Busy>(*claim_at(100 * (i + 1) + 1, "6")));
    ASSERT_EQ(said(run(context_, store_->complete(newer, std::get<Granted>(*granted).fence, answer_of("x")))), "ok");
    EXPECT_TRUE(std::holds_alternative<Superseded>(*claim_at(100 * (i + 1) + 2, "4")));
    EXPECT_TRUE(std::holds_alternative<Granted>(*claim_at(100 * (i + 1) + 3, "5")));
  }
  for (const std::string& url : {one, two}) {
    const std::string database = url.substr(url.find("test_"), url.find('?') - url.find("test_"));
    EXPECT_GT(std::stoi(server_.run("SELECT count(*) FROM semel.objects", database)), 3);
  }
}

// A set other than the one that was recorded is refused, and cannot be recorded while there are keys it would not find.
TEST_F(PostgresShards, AnotherSetIsRefused) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  EXPECT_FALSE(try_open_all({one, two})) << "nobody said that they belong together";
  EXPECT_FALSE(try_open_all({one, one}));
  ASSERT_TRUE(join_postgres_shards(*clock_, {one, two}));
  EXPECT_FALSE(try_open_all({one})) << "half of the keys are elsewhere";
}

// Keys that have not expired keep the set as it is; afterwards a shard can be added.
TEST_F(PostgresShards, ShardIsAddedWhenNoKeyIsLeft) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  const std::string database = one.substr(one.find("test_"), one.find('?') - one.find("test_"));
  open(one);
  take(key_of(1), 1);
  const auto in_use = join_postgres_shards(*clock_, {one, two});
  ASSERT_FALSE(in_use);
  EXPECT_NE(in_use.error().detail.find("not expired"), std::string::npos);
  server_.run("TRUNCATE semel.keys, semel.objects", database);
  const auto connected = join_postgres_shards(*clock_, {one, two});
  ASSERT_FALSE(connected);
  EXPECT_NE(connected.error().detail.find("stop it first"), std::string::npos);
  store_.reset();
  EXPECT_TRUE(soon([&] { return join_postgres_shards(*clock_, {one, two}).has_value(); }));
  EXPECT_TRUE(try_open_all({one, two}));
}

}  // namespace
}  // namespace semel::test
