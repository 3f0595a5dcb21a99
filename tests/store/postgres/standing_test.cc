// Every call says which server, set of shards and identity its gateway goes by. If the database has become another one,
// also behind a connection that has stayed, nothing is granted.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "store/postgres/admin.h"
#include "store/postgres/fixture.h"
#include "store/postgres/libpq.h"
#include "store/postgres/own_connection.h"
#include "support/pgbouncer.h"
#include "support/postgres_server.h"
#include <semel/postgres_transaction.h>

namespace semel::test {
namespace {

class PostgresStanding : public PostgresTest {
 protected:
  // Whether claims of key 1 by others are refused, and soon say why.
  bool refuses(const std::string& why) {
    std::uint64_t owner = 1'000;
    Result<Claim> claimed;
    const bool refused = soon([&] {
      claimed = claim(key_of(1), ++owner);
      return claimed || claimed.error().detail.find(why) != std::string::npos;
    });
    EXPECT_FALSE(claimed) << "the key is claimed, but not in this database";
    EXPECT_TRUE(refused) << claimed.error().detail;
    return refused && !claimed;
  }
  // Gives the name of the first database to another one.
  static void swap(PostgresServer& server, const std::string& other) {
    const bool renamed = soon([&] {
      try {
        server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'test%'");
        server.run("ALTER DATABASE test_1 RENAME TO before");
        return true;
      } catch (const std::exception&) {
        return false;
      }
    });
    ASSERT_TRUE(renamed);
    server.run("ALTER DATABASE " + other + " RENAME TO test_1");
  }
  Result<OpenedStore> open_set(const std::vector<std::string>& urls) {
    PostgresOptions options;
    options.urls = urls;
    return open_postgres_store(*clock_, options);
  }
};

// The pooler keeps the gateway's connection while another database takes the place of the one behind it.
TEST_F(PostgresStanding, DatabaseThatIsSwappedBehindAPoolerIsRefused) {
  PostgresServer server;
  server.fresh_database();
  server.fresh_database();
  const PgBouncer bouncer(server);
  open(bouncer.url("test_1"));
  take(key_of(1), 1);
  std::this_thread::sleep_for(Millis{2'500});  // its pulse is ahead of that of the other
  swap(server, "test_2");
  EXPECT_TRUE(refuses("another database"));
}

// The same, with a copy of the database, which says of itself what its original says.
TEST_F(PostgresStanding, CopyThatTakesThePlaceOfItsOriginalIsRefused) {
  PostgresServer server;
  server.fresh_database();
  server.run("CREATE DATABASE copy TEMPLATE test_1");
  const PgBouncer bouncer(server);
  open(bouncer.url("test_1"));
  take(key_of(1), 1);
  swap(server, "copy");
  EXPECT_TRUE(refuses("a copy of the database"));
}

// The same, with the server that was primary before the last failover.
TEST_F(PostgresStanding, FormerPrimaryBehindAPoolerIsRefused) {
  PostgresServer server;
  server.fresh_database();
  const PgBouncer bouncer(server);
  const auto data = server.folder() / "data";
  const auto before = server.folder() / "before";
  server.crash();
  run_unprivileged({"cp", "-a", data.string(), before.string()}, "/dev/null");
  std::ofstream(data / "standby.signal").close();
  server.start();
  server.run("SELECT pg_promote()");

  open(bouncer.url("test_1"));
  take(key_of(1), 1);
  server.crash();
  std::filesystem::rename(data, server.folder() / "after");
  std::filesystem::rename(before, data);
  server.start();
  EXPECT_TRUE(refuses("former primary"));
}

// The same, with a physical copy of the server: system identifier, timeline and generation are those of its original.
TEST_F(PostgresStanding, PhysicalCopyIsRefused) {
  for (const bool pooled : {false, true}) {
    SCOPED_TRACE(pooled ? "behind a pooler" : "directly");
    PostgresServer server;
    const std::string direct = server.fresh_database();
    const PgBouncer bouncer(server);
    const auto data = server.folder() / "data";
    const auto copy = server.folder() / "copy";
    server.crash();
    run_unprivileged({"cp", "-a", data.string(), copy.string()}, "/dev/null");
    server.start();

    open(pooled ? bouncer.url("test_1") : direct);
    take(key_of(1), 1);
    ASSERT_TRUE(soon([&] { return server.run("SELECT number > 0 FROM semel.pulse", "test_1") == "t"; }));
    server.crash();
    std::filesystem::rename(data, server.folder() / "original");
    std::filesystem::rename(copy, data);
    server.start();
    EXPECT_TRUE(refuses("an older copy"));
    server.crash();
    std::filesystem::rename(data, copy);
    std::filesystem::rename(server.folder() / "original", data);
    server.start();
    EXPECT_TRUE(soon([&] { return claim(key_of(2), 2).has_value(); })) << "the original is taken up again";
    store_.reset();
  }
}

// Two that were promoted by themselves have the same timeline. The one that a gateway has written to is the one that
// counts.
TEST_F(PostgresStanding, FormerPrimaryThatPromotedItselfIsRefused) {
  PostgresServer server;
  const std::string url = server.fresh_database();
  const auto data = server.folder() / "data";
  const auto before = server.folder() / "before";
  const auto promote = [&] {
    std::ofstream(data / "standby.signal").close();
    server.start();
    server.run("SELECT pg_promote()");
  };
  server.crash();
  run_unprivileged({"cp", "-a", data.string(), before.string()}, "/dev/null");
  promote();
  open(url);
  take(key_of(1), 1);
  ASSERT_TRUE(soon([&] { return server.run("SELECT number > 0 FROM semel.pulse", "test_1") == "t"; }));
  server.crash();
  std::filesystem::rename(data, server.folder() / "after");
  std::filesystem::rename(before, data);
  promote();
  EXPECT_TRUE(refuses("an older copy"));
}

// After a failover behind the pooler the gateway goes on with the new primary, without a word to its callers.
TEST_F(PostgresStanding, NewPrimaryBehindAPoolerIsTakenUp) {
  PostgresServer server;
  server.fresh_database();
  const PgBouncer bouncer(server);
  open(bouncer.url("test_1"));
  const Fence fence = take(key_of(1), 1);
  server.crash();
  std::ofstream(server.folder() / "data" / "standby.signal").close();
  server.start();
  server.run("SELECT pg_promote()");
  Result<Claim> claimed;
  EXPECT_TRUE(soon([&] {
    claimed = claim(key_of(2), 2);
    return claimed.has_value();
  })) << claimed.error().detail;
  EXPECT_EQ(said(complete(key_of(1), fence)), "ok");
}

// Shards are added under a gateway that the migration cannot see: it has a name of its own, or stands behind a pooler.
// It grants nothing from then on, so no key is granted by it and by a gateway that was started with the longer list.
TEST_F(PostgresStanding, GatewayWithTheSetOfBeforeGrantsNothing) {
  PostgresServer server;
  const PgBouncer bouncer(server);
  for (const bool pooled : {false, true}) {
    SCOPED_TRACE(pooled ? "behind a pooler" : "under a name of its own");
    const std::string one = server.fresh_database();
    const std::string two = server.fresh_database();
    const std::string name = pooled ? "test_3" : "test_1";
    open((pooled ? bouncer.url(name) : one) + "&application_name=orders");
    for (std::uint64_t i = 0; i < 10; ++i) take(key_of(i), i + 1);
    const Result<void> joined = store::postgres::join_postgres_shards(*clock_, {one, two});
    ASSERT_TRUE(joined) << joined.error().detail;
    auto later = open_set({one, two});
    ASSERT_TRUE(later) << later.error().detail;
    for (std::uint64_t i = 100; i < 140; ++i) {
      const Result<Claim> by_old_list = claim(key_of(i), i);
      EXPECT_EQ(said(by_old_list), "unavailable") << i;
      const Result<Claim> claimed =
          run(context_, later->store->claim(key_of(i), fingerprint_of(1), terms_of(1'000 + i)));
      ASSERT_EQ(said(claimed), "ok");
      EXPECT_TRUE(std::holds_alternative<Granted>(*claimed));
    }
    EXPECT_TRUE(soon([&] {
      const Result<Claim> claimed = claim(key_of(200), 200);
      return !claimed && claimed.error().detail.find("set of shards has changed") != std::string::npos;
    }));
  }
}

// A claim that is under way when the set changes ends first: the change waits for it, and gives up if that takes long.
TEST_F(PostgresStanding, SetDoesNotChangeUnderAClaimThatIsUnderWay) {
  PostgresServer& server = PostgresServer::shared();
  const std::string one = server.fresh_database();
  const std::string two = server.fresh_database();
  const DatabaseConnection own(one);
  store::postgres::LibpqSession session(own.get());
  own.run("BEGIN");
  TransactionClaim claim(session, key_of(1), fingerprint_of(1), {});
  ASSERT_FALSE(claim.answer());
  const auto during = store::postgres::join_postgres_shards(*clock_, {one, two});
  ASSERT_FALSE(during);
  EXPECT_NE(during.error().detail.find("under way"), std::string::npos) << during.error().detail;
  ASSERT_TRUE(claim.complete(Response{.status = 200, .fields = {}, .body = "kept"}));
  own.run("COMMIT");
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, {one, two}));
  auto later = open_set({one, two});
  ASSERT_TRUE(later) << later.error().detail;
  const Result<Claim> found = run(context_, later->store->claim(key_of(1), fingerprint_of(1), terms_of(2)));
  ASSERT_EQ(said(found), "ok");
  EXPECT_TRUE(std::holds_alternative<Held>(*found));
}

// The same for a call of a gateway: it was compared with the set of before, and has yet to write.
TEST_F(PostgresStanding, SetDoesNotChangeUnderACallThatWasCompared) {
  PostgresServer& server = PostgresServer::shared();
  const std::string one = server.fresh_database();
  const std::string two = server.fresh_database();
  const DatabaseConnection gateway(one);
  gateway.run("BEGIN");
  gateway.run("SELECT semel.check_2(semel.standing_2(), 300)");
  EXPECT_FALSE(store::postgres::join_postgres_shards(*clock_, {one, two}));
  gateway.run("COMMIT");
  EXPECT_TRUE(store::postgres::join_postgres_shards(*clock_, {one, two}));
}

// A transaction is in one database, and a key of a set may live in another: refused, in words, before anything runs.
TEST_F(PostgresStanding, TransactionOnOneShardOfASetIsRefused) {
  PostgresServer& server = PostgresServer::shared();
  const std::string one = server.fresh_database();
  const std::string two = server.fresh_database();
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, {one, two}));
  const DatabaseConnection own(one);
  int ran = 0;
  for (std::uint64_t i = 0; i < 16; ++i) {
    const Answer answer = once_in_transaction(own.get(), key_of(i), fingerprint_of(1), {}, [&](Fence) {
      ++ran;
      return Outcome::kept(Response{.status = 200, .fields = {}, .body = "ran"});
    });
    EXPECT_NE(body_of(answer).find("one of several shards"), std::string::npos) << body_of(answer);
  }
  EXPECT_EQ(ran, 0);
}

}  // namespace
}  // namespace semel::test
