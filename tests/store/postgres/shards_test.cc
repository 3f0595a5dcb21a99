// Several databases as one store: every key has one home, and nobody goes by another set than the others.

#include "store/postgres/shards.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "store/lookup.h"
#include "store/postgres/admin.h"
#include "store/postgres/fixture.h"
#include "support/postgres_server.h"

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
    const std::size_t home = store::postgres::shard_of(id, three);
    EXPECT_EQ(turned[store::postgres::shard_of(id, turned)], three[home]);
    const std::size_t later = store::postgres::shard_of(id, four);
    EXPECT_TRUE(later == home || later == 3);
    ++count.at(later);
  }
  for (const int share : count) EXPECT_NEAR(share, 1'000, 150);
}

class PostgresShards : public PostgresTest {
 protected:
  Result<OpenedStore> try_open_all(const std::vector<std::string>& urls) {
    PostgresOptions options;
    options.urls = urls;
    return open_postgres_store(*clock_, options);
  }
  static std::string database_of(const std::string& url) {
    return url.substr(url.find("test_"), url.find('?') - url.find("test_"));
  }
  PostgresServer& server_ = PostgresServer::shared();
};

// Keys are shared out, found again by a store that names the shards in another order, and swept everywhere.
TEST_F(PostgresShards, KeysAreSharedOutAndFoundAgain) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, {one, two}));
  auto opened = try_open_all({one, two});
  ASSERT_TRUE(opened) << opened.error().detail;
  store_ = std::move(opened->store);
  for (std::uint64_t i = 0; i < 40; ++i) {
    ASSERT_EQ(said(complete(key_of(i), take(key_of(i), i + 1), answer_of(std::to_string(i)))), "ok");
  }
  store_.reset();
  for (const std::string& url : {one, two}) {
    EXPECT_GT(std::stoi(server_.run("SELECT count(*) FROM semel.keys", database_of(url))), 5);
    server_.run("UPDATE semel.keys SET expires_at = now() + interval '1 second'", database_of(url));
  }

  opened = try_open_all({two, one});
  ASSERT_TRUE(opened) << opened.error().detail;
  store_ = std::move(opened->store);
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Result<Claim> claimed = claim(key_of(i), 1'000 + i);
    ASSERT_EQ(said(claimed), "ok");
    EXPECT_EQ(std::get<Held>(*claimed).record.response->body, std::to_string(i));
  }
  std::this_thread::sleep_for(Millis{1'100});
  EXPECT_EQ(*run(context_, store_->sweep(100)), 40U);
}

// What a shard can do the whole can: reopen a key, and tell of an end in another process, wherever the key lives.
TEST_F(PostgresShards, TheWholeCanDoWhatAShardCan) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, {one, two}));
  auto opened = try_open_all({one, two});
  auto waiting = try_open_all({two, one});
  ASSERT_TRUE(opened && waiting);
  ASSERT_NE(opened->reopening, nullptr);
  ASSERT_NE(waiting->endings, nullptr);
  std::mutex mutex;
  std::set<Digest> told;
  waiting->endings->watch([&](const Digest& id) {
    const std::scoped_lock lock(mutex);
    told.insert(id);
  });
  store_ = std::move(opened->store);
  std::set<Digest> keys;
  std::vector<Fence> fences;
  for (std::uint64_t i = 0; i < 40; ++i) {
    fences.push_back(take(key_of(i), i + 1));
    keys.insert(key_of(i).id);
    waiting->endings->expect(key_of(i));
  }
  for (std::uint64_t i = 0; i < 40; ++i) ASSERT_EQ(said(complete(key_of(i), fences[i])), "ok");
  EXPECT_TRUE(soon([&] {
    const std::scoped_lock lock(mutex);
    return told == keys;
  }));
  for (const std::string& url : {one, two}) {
    EXPECT_GT(std::stoi(server_.run("SELECT count(*) FROM semel.keys", database_of(url))), 0);
  }
  for (std::uint64_t i = 0; i < 40; ++i) {
    EXPECT_TRUE(*run(context_, opened->reopening->reopen(key_of(i))));
    EXPECT_EQ(take(key_of(i), 100 + i).number, 2U);
  }
  waiting->store.reset();
}

// Events of one object live with it in one shard, whatever their own ids, so that they can be judged together.
TEST_F(PostgresShards, AnObjectAndItsEventsLiveTogether) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, {one, two}));
  auto opened = try_open_all({one, two});
  ASSERT_TRUE(opened) << opened.error().detail;
  store_ = std::move(opened->store);
  for (std::uint64_t i = 0; i < 40; ++i) {
    Order order{.object = key_of(1'000 + i), .stamp = "5"};
    order.object.home = i + 1;
    Terms terms{.lapsed = Terms::Lapsed::taken_over, .owner = i + 1};
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
    EXPECT_GT(std::stoi(server_.run("SELECT count(*) FROM semel.objects", database_of(url))), 3);
  }
}

// A set other than the one that was recorded is refused, and cannot be recorded while there are keys it would not find.
TEST_F(PostgresShards, AnotherSetIsRefused) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  EXPECT_FALSE(try_open_all({one, two})) << "nobody said that they belong together";
  EXPECT_FALSE(try_open_all({one, one}));
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, {one, two}));
  EXPECT_FALSE(try_open_all({one})) << "half of the keys are elsewhere";
}

// While a gateway is connected the set stays as it is: it would go on by the old one.
TEST_F(PostgresShards, SetDoesNotChangeUnderAGateway) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  open(one);
  const auto connected = store::postgres::join_postgres_shards(*clock_, {one, two});
  ASSERT_FALSE(connected);
  EXPECT_NE(connected.error().detail.find("stop it first"), std::string::npos);
  store_.reset();
  EXPECT_TRUE(soon([&] { return store::postgres::join_postgres_shards(*clock_, {one, two}).has_value(); }));
  EXPECT_TRUE(try_open_all({one, two}));
  EXPECT_FALSE(try_open(one)) << "the list of before";
}

// Databases that held keys apart from each other cannot become one set, nor can one that holds keys be left out.
TEST_F(PostgresShards, KeysThatWouldNotBeFoundKeepTheSetAsItIs) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  for (const std::string& url : {one, two}) {
    open(url);
    take(key_of(1), 1);
  }
  store_.reset();
  const auto apart = store::postgres::join_postgres_shards(*clock_, {one, two});
  ASSERT_FALSE(apart);
  EXPECT_NE(apart.error().detail.find("not one set before"), std::string::npos);
  server_.run("TRUNCATE semel.keys", database_of(two));
  ASSERT_TRUE(soon([&] { return store::postgres::join_postgres_shards(*clock_, {one, two}).has_value(); }));
  const auto left_out = store::postgres::join_postgres_shards(*clock_, {one});
  ASSERT_FALSE(left_out);
}

// How far the events of an object have come is known in one place, so the set stays as it is while that is remembered.
TEST_F(PostgresShards, OrderedObjectsKeepTheSetAsItIs) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  open(one);
  Order order{.object = key_of(1'000), .stamp = "5"};
  order.object.home = 7;
  Key key = key_of(1);
  key.home = order.object.home;
  const Terms terms{.owner = 1, .order = std::make_shared<const Order>(order)};
  ASSERT_EQ(said(run(context_, store_->claim(key, fingerprint_of(1), terms))), "ok");
  store_.reset();
  Result<void> joined;
  ASSERT_TRUE(soon([&] {
    joined = store::postgres::join_postgres_shards(*clock_, {one, two});
    return !joined && joined.error().detail.find("stop it first") == std::string::npos;
  }));
  EXPECT_NE(joined.error().detail.find("semel.objects"), std::string::npos) << joined.error().detail;
  server_.run("UPDATE semel.objects SET expires_at = now()", database_of(one));
  EXPECT_TRUE(store::postgres::join_postgres_shards(*clock_, {one, two}));
}

// A gateway that lost its connections while the set was changed does not go on by the old one.
TEST_F(PostgresShards, GatewayNoticesThatTheSetHasChanged) {
  const std::string one = server_.fresh_database();
  open(one);
  take(key_of(1), 1);
  server_.run("INSERT INTO semel.shards (shard, here) VALUES (gen_random_uuid(), false)", database_of(one));
  server_.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'semel'",
              database_of(one));
  EXPECT_TRUE(soon([&] {
    const Result<Claim> claimed = claim(key_of(2), 2);
    return !claimed && claimed.error().detail.find("set of shards has changed") != std::string::npos;
  }));
}

// A shard is added to one that is full of keys in every state. Each is found where it is, by its answer, its holder and
// its fence; what ends is not seen again there; new keys are shared out over both; and no key is ever in two places.
TEST_F(PostgresShards, KeysAreFoundWhereTheyWereAfterAShardWasAdded) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  open(one);
  std::vector<Fence> fences;
  for (std::uint64_t i = 0; i < 160; ++i) fences.push_back(take(key_of(i), i + 1));
  for (std::uint64_t i = 0; i < 40; ++i) ASSERT_EQ(said(complete(key_of(i), fences[i], answer_of("kept"))), "ok");
  for (std::uint64_t i = 40; i < 80; ++i) ASSERT_EQ(said(run(context_, store_->release(key_of(i), fences[i]))), "ok");
  for (std::uint64_t i = 80; i < 120; ++i) ASSERT_EQ(said(complete(key_of(i), fences[i], nullptr)), "ok");
  store_.reset();
  ASSERT_TRUE(soon([&] { return store::postgres::join_postgres_shards(*clock_, {one, two}).has_value(); }));
  auto opened = try_open_all({two, one});
  ASSERT_TRUE(opened) << opened.error().detail;
  store_ = std::move(opened->store);

  for (std::uint64_t i = 0; i < 160; ++i) {
    SCOPED_TRACE("key " + std::to_string(i));
    Terms terms = terms_of(1'000 + i);
    terms.lapsed = Terms::Lapsed::taken_over;
    const Result<Claim> claimed = run(context_, store_->claim(key_of(i), fingerprint_of(1), terms));
    ASSERT_EQ(said(claimed), "ok");
    const auto* held = std::get_if<Held>(&*claimed);
    if (i < 40) {
      ASSERT_NE(held, nullptr);
      EXPECT_EQ(held->record.response->body, "kept");
    } else if (i < 120) {  // released, or unknown and taken over
      ASSERT_EQ(held, nullptr) << "it could be claimed";
      const Fence fence = std::get<Granted>(*claimed).fence;
      EXPECT_EQ(fence, (Fence{.number = 2, .owner = 1'000 + i}));
      EXPECT_EQ(said(run(context_, store_->renew(key_of(i), fence, ample))), "ok");
      EXPECT_EQ(said(complete(key_of(i), fence)), "ok");
    } else {
      ASSERT_NE(held, nullptr);
      EXPECT_EQ(held->record.state, Record::State::running);
      EXPECT_EQ(said(complete(key_of(i), fences[i])), "ok") << "by the holder of before";
    }
  }
  EXPECT_EQ(server_.run("SELECT count(*) FROM semel.keys", database_of(one)), "160");
  EXPECT_EQ(server_.run("SELECT count(*) FROM semel.keys", database_of(two)), "0");
  for (std::uint64_t i = 200; i < 260; ++i) ASSERT_EQ(said(complete(key_of(i), take(key_of(i), i))), "ok");
  EXPECT_GT(std::stoi(server_.run("SELECT count(*) FROM semel.keys", database_of(two))), 15);

  // When they have expired they are claimed where they belong, and the next migration ends the looking back.
  server_.run("UPDATE semel.keys SET expires_at = now() WHERE claimed_at < now()", database_of(one));
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_EQ(take(key_of(i), 5'000 + i).number, 1U);
  EXPECT_EQ(server_.run("SELECT count(*) FROM semel.shards WHERE former_until IS NOT NULL", database_of(two)), "1");
  store_.reset();
  for (const std::string& url : {one, two}) {
    server_.run("UPDATE semel.shards SET former_until = now() WHERE former_until IS NOT NULL", database_of(url));
  }
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, {one, two}));
  EXPECT_EQ(server_.run("SELECT count(*) FROM semel.shards WHERE former_until IS NOT NULL", database_of(two)), "0");
  EXPECT_TRUE(try_open_all({one, two}));
}

// An operator lets keys run again that were claimed before a shard was added: they are found where they are.
TEST_F(PostgresShards, KeysAreReopenedWhereTheyWereAfterAShardWasAdded) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  open(one);
  for (std::uint64_t i = 0; i < 40; ++i) ASSERT_EQ(said(complete(key_of(i), take(key_of(i), i + 1))), "ok");
  store_.reset();
  ASSERT_TRUE(soon([&] { return store::postgres::join_postgres_shards(*clock_, {one, two}).has_value(); }));
  auto opened = try_open_all({one, two});
  ASSERT_TRUE(opened) << opened.error().detail;
  store_ = std::move(opened->store);
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Result<bool> reopened = run(context_, opened->reopening->reopen(key_of(i)));
    ASSERT_TRUE(reopened) << reopened.error().detail;
    EXPECT_TRUE(*reopened) << i;
    EXPECT_EQ(take(key_of(i), 1'000 + i).number, 2U) << i;
  }
  for (std::uint64_t i = 100; i < 120; ++i) EXPECT_FALSE(*run(context_, opened->reopening->reopen(key_of(i))));
}

// A look finds a key wherever it lives: at home, or where it was before a shard was added.
TEST_F(PostgresShards, KeysAreSeenWhereTheyAre) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  open(one);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(said(complete(key_of(i), take(key_of(i), i + 1), answer_of(std::to_string(i)))), "ok");
  }
  store_.reset();
  ASSERT_TRUE(soon([&] { return store::postgres::join_postgres_shards(*clock_, {one, two}).has_value(); }));
  PostgresOptions options;
  options.urls = {one, two};
  auto opened = store::postgres::open_with_keys(*clock_, options, {});
  ASSERT_TRUE(opened) << opened.error().detail;
  ASSERT_NE(opened->lookup, nullptr);
  store_ = std::move(opened->store);
  for (std::uint64_t i = 20; i < 40; ++i) {
    ASSERT_EQ(said(complete(key_of(i), take(key_of(i), i + 1), answer_of(std::to_string(i)))), "ok");
  }
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Result<std::optional<Held>> held = run(context_, opened->lookup->look_up(key_of(i)));
    ASSERT_TRUE(held && *held) << i;
    EXPECT_EQ((*held)->record.response->body, std::to_string(i));
  }
  EXPECT_FALSE(run(context_, opened->lookup->look_up(key_of(99)))->has_value());
}

// Callers race for keys at the moment at which these expire at their former home: each is granted once.
TEST_F(PostgresShards, KeyThatExpiresAtItsFormerHomeIsGrantedOnce) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  open(one);
  constexpr std::uint64_t keys = 60;
  for (std::uint64_t i = 0; i < keys; ++i) ASSERT_EQ(said(complete(key_of(i), take(key_of(i), i + 1))), "ok");
  store_.reset();
  ASSERT_TRUE(soon([&] { return store::postgres::join_postgres_shards(*clock_, {one, two}).has_value(); }));
  server_.run("UPDATE semel.keys SET expires_at = now() + interval '300 milliseconds'", database_of(one));
  std::vector<std::unique_ptr<Store>> gateways;
  for (int i = 0; i < 2; ++i) {
    auto opened = try_open_all({one, two});
    ASSERT_TRUE(opened) << opened.error().detail;
    gateways.push_back(std::move(opened->store));
  }
  std::array<std::atomic<int>, keys> grants{};
  // Whoever hears no answer asks again as the same owner; the last round comes when every key has expired.
  const auto race = [&](Store* store, std::uint64_t owner) {
    boost::asio::io_context context{1};
    const Time until = clock_->now() + Millis{1'000};
    for (bool last = false; !last;) {
      last = clock_->now() >= until;
      for (std::uint64_t i = 0; i < keys; ++i) {
        const Terms terms = terms_of(++owner);
        Result<Claim> claimed = run(context, store->claim(key_of(i), fingerprint_of(1), terms));
        while (!claimed) claimed = run(context, store->claim(key_of(i), fingerprint_of(1), terms));
        if (std::holds_alternative<Granted>(*claimed)) ++grants.at(i);
      }
    }
  };
  std::vector<std::future<void>> racers;
  for (std::uint64_t i = 0; i < 4; ++i) {
    racers.push_back(std::async(std::launch::async, race, gateways[i % 2].get(), (i + 1) * 1'000'000));
  }
  for (auto& racer : racers) racer.get();
  for (std::uint64_t i = 0; i < keys; ++i) EXPECT_EQ(grants.at(i).load(), 1) << i;
  const int there = std::stoi(server_.run("SELECT count(*) FROM semel.keys WHERE state = 'running'", database_of(two)));
  EXPECT_GT(there, 10);
}

}  // namespace
}  // namespace semel::test
