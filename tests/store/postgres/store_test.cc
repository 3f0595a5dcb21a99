// What the PostgreSQL store promises beyond the contract: cost, isolation of trouble, rights, and what an operator
// sees.

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <libpq-fe.h>

#include <gtest/gtest.h>

#include "store/postgres/admin.h"
#include "store/postgres/fixture.h"
#include "store/postgres/sweep_progress.h"
#include "support/pgbouncer.h"
#include "support/postgres_server.h"
#include <semel/postgres.h>

namespace semel::test {
namespace {

class PostgresStoreTest : public PostgresTest {
 protected:
  PostgresStoreTest() { server_.run("TRUNCATE semel.keys, semel.objects"); }

  std::uint64_t number(const std::string& sql) { return std::stoull(server_.run(sql)); }

  PostgresServer& server_ = PostgresServer::shared();
};

Task<void> claim_and_complete(Store* store, std::uint64_t number, std::atomic<int>* done) {
  auto key = make_key("orders", "tenant", "key " + std::to_string(number));
  const Fingerprint fingerprint = fingerprint_of(1);
  Terms terms;
  terms.lease = ample;
  terms.ttl = ample;
  terms.owner = number + 1;
  const Result<Claim> claimed = co_await store->claim(*key, fingerprint, terms);
  if (!claimed || !std::holds_alternative<Granted>(*claimed)) co_return;
  const Fence fence = std::get<Granted>(*claimed).fence;
  const SharedResponse response = answer_of("a body of some length, as an API might answer with");
  const Result<void> completed = co_await store->complete(*key, fence, response);
  if (completed) ++*done;
}

// Many calls at the same time cost few transactions: they gather while a batch is under way.
TEST_F(PostgresStoreTest, CallsGatherIntoFewTransactions) {
  open(server_.url());
  const std::uint64_t before = number("SELECT pg_snapshot_xmax(pg_current_snapshot())::text");
  std::atomic<int> done = 0;
  crew_.run(2, [&](std::size_t thread, boost::asio::io_context& context) {
    for (std::uint64_t i = 0; i < 1'000; ++i) {
      start(context, claim_and_complete(store_.get(), (thread * 1'000) + i, &done));
    }
    context.run();
  });
  EXPECT_EQ(done, 2'000);
  EXPECT_LT(number("SELECT pg_snapshot_xmax(pg_current_snapshot())::text") - before, 400U);
}

Task<void> claim_and_complete_each(Store* store, std::atomic<std::uint64_t>* next, std::atomic<int>* done) {
  for (std::uint64_t at = (*next)++; at < 3'000; at = (*next)++) co_await claim_and_complete(store, at, done);
}

// A completion moves no index entry: it is a HOT update, but for the few that find their page full.
TEST_F(PostgresStoreTest, CompletionIsAHotUpdate) {
  PostgresServer server;
  open(server.fresh_database());
  std::atomic<std::uint64_t> next = 0;
  std::atomic<int> done = 0;
  crew_.run(2, [&](std::size_t, boost::asio::io_context& context) {
    for (int lane = 0; lane < 32; ++lane) start(context, claim_and_complete_each(store_.get(), &next, &done));
    context.run();
  });
  ASSERT_EQ(done, 3'000);
  store_.reset();  // a connection reports what it did when it ends
  const std::string counts =
      "SELECT n_tup_upd || ' of which 95 % are HOT: ' || (n_tup_hot_upd >= 0.95 * n_tup_upd)"
      " FROM pg_stat_user_tables WHERE relname = 'keys'";
  const std::string expected = "3000 of which 95 % are HOT: true";
  EXPECT_TRUE(soon([&] { return server.run(counts, "test_1") == expected; })) << server.run(counts, "test_1");
}

// Replays and conflicts write nothing at all: not one transaction number is used up.
TEST_F(PostgresStoreTest, ReplaysAndConflictsWriteNothing) {
  PostgresServer quiet({"autovacuum = off"});
  open(quiet.fresh_database());
  ASSERT_EQ(said(complete(key_of(1), take(key_of(1), 1))), "ok");
  take(key_of(2), 2);
  const std::string next = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text";
  const std::string before = quiet.run(next);
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(std::get<Held>(*claim(key_of(1), 100 + i)).record.state, Record::State::done);
    EXPECT_EQ(std::get<Held>(*claim(key_of(2), 100 + i)).record.state, Record::State::running);
  }
  EXPECT_EQ(quiet.run(next), before);
}

// Somebody holds a lock on the row of one key: the completions that went in the same batch succeed soon, and that one
// is told that the row is locked.
TEST_F(PostgresStoreTest, LockedRowSinksNoOther) {
  open(server_.url(), Millis{2'000}, 1);
  constexpr std::uint64_t count = 20;
  std::vector<Fence> fences;
  for (std::uint64_t i = 0; i < count; ++i) fences.push_back(take(key_of(i), i + 1));
  PGconn* other = PQconnectdb(server_.url().c_str());
  PQclear(PQexec(other, "BEGIN"));
  PQclear(PQexec(other, "SELECT FROM semel.keys WHERE owner = 8 FOR UPDATE"));

  std::vector<std::string> answers(count);
  crew_.run(1, [&](std::size_t, boost::asio::io_context& context) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto end = [](Store* store, Key key, Fence fence, std::string* answer) -> Task<void> {
        const SharedResponse response = answer_of("kept");
        const Result<void> completed = co_await store->complete(key, fence, response);
        *answer = said(completed);
      };
      start(context, end(store_.get(), key_of(i), fences[i], &answers[i]));
    }
    context.run();
  });
  PQfinish(other);
  for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(answers[i], i == 7 ? "unavailable" : "ok") << i;
  EXPECT_EQ(said(complete(key_of(7), fences[7])), "ok");
}

// A key that the server cannot store fails alone.
TEST_F(PostgresStoreTest, BadRowSinksNoOther) {
  open(server_.url(), Millis{2'000}, 1);
  std::vector<std::string> answers(5);
  crew_.run(1, [&](std::size_t, boost::asio::io_context& context) {
    for (std::uint64_t i = 0; i < answers.size(); ++i) {
      const auto take_one = [](Store* store, Key key, Terms terms, std::string* answer) -> Task<void> {
        const Fingerprint fingerprint = fingerprint_of(1);
        const Result<Claim> claimed = co_await store->claim(key, fingerprint, terms);
        *answer = said(claimed);
      };
      Key key = key_of(i);
      if (i == 2) key.space = "not \xff UTF-8";
      start(context, take_one(store_.get(), key, terms_of(i + 1), &answers[i]));
    }
    context.run();
  });
  EXPECT_EQ(answers, (std::vector<std::string>{"ok", "ok", "invalid", "ok", "ok"}));
}

// A response that was changed in the table blocks its key and is not replayed.
TEST_F(PostgresStoreTest, DamagedResponseIsNotReplayed) {
  open(server_.url());
  ASSERT_EQ(said(complete(key_of(1), take(key_of(1), 1))), "ok");
  server_.run("UPDATE semel.keys SET response = set_byte(response, 90, 1 + get_byte(response, 90) % 200)");
  EXPECT_EQ(said(claim(key_of(1), 2)), "corrupt");
  ASSERT_EQ(said(complete(key_of(2), take(key_of(2), 2))), "ok");
  server_.run("UPDATE semel.keys SET response = (SELECT response FROM semel.keys WHERE owner = 2) WHERE owner = 1");
  EXPECT_EQ(said(claim(key_of(1), 3)), "corrupt") << "another key's response";
}

// A sweep begins where the last one ended, and from time to time at the beginning, for what was left behind.
TEST(SweepProgress, GoesOnAndBeginsAgainFromTimeToTime) {
  using store::postgres::SweepProgress;
  SweepProgress progress;
  EXPECT_EQ(progress.keys_from, SweepProgress::beginning);
  progress.advance(100, 50, 1'000);
  EXPECT_EQ(progress.keys_from, 100);
  EXPECT_EQ(progress.objects_from, 50);
  progress.advance(900, 60, 1'000 + SweepProgress::whole_every - 1);
  EXPECT_EQ(progress.keys_from, 900);
  progress.advance(950, 70, 1'000 + SweepProgress::whole_every);
  EXPECT_EQ(progress.keys_from, SweepProgress::beginning);
  EXPECT_EQ(progress.objects_from, SweepProgress::beginning);
  progress.advance(2'000, 80, 1'001 + SweepProgress::whole_every);
  EXPECT_EQ(progress.keys_from, 2'000);
}

// While somebody holds an old snapshot, what was deleted stays in the index. A sweep does not walk over it again.
TEST_F(PostgresStoreTest, SweepDoesNotWalkOverWhatItDeleted) {
  PostgresServer server({"autovacuum = off"});
  const std::string url = server.fresh_database();
  open(url, Millis{5'000}, 1);
  take(key_of(1), 1);
  server.run(
      "INSERT INTO semel.keys (claimed_at, lease_until, expires_at, fence, owner, state, space, scope, id, "
      "fingerprint) "
      "SELECT now(), now(), now() - i * interval '1 millisecond', 1, 1, 'done', 'x', '', sha256(i::text::bytea), '' "
      "FROM generate_series(1, 20000) AS i",
      "test_1");
  PGconn* other = PQconnectdb(url.c_str());
  PQclear(PQexec(other, "BEGIN ISOLATION LEVEL REPEATABLE READ"));
  PQclear(PQexec(other, "SELECT count(*) FROM semel.keys"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(*run(context_, store_->sweep(1'000)), 1'000U);
  EXPECT_EQ(*run(context_, store_->sweep(1'000)), 0U);
  EXPECT_EQ(server.run("SELECT count(*) FROM semel.keys", "test_1"), "1");
  store_.reset();  // a connection reports what it did when it ends
  const std::string walked = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'keys_expires_at'";
  EXPECT_TRUE(soon([&] { return std::stoi(server.run(walked, "test_1")) >= 20'000; }));
  EXPECT_LT(std::stoi(server.run(walked, "test_1")), 60'000);
  PQfinish(other);
}

// What docs/postgres.md grants is enough, and gives no way to the table itself.
TEST_F(PostgresStoreTest, WorksWithTheLeastRights) {
  const std::string url = server_.fresh_database();
  const std::string database = url.substr(url.find("test_"), url.find('?') - url.find("test_"));
  server_.run("DROP ROLE IF EXISTS semel_gateway; CREATE ROLE semel_gateway LOGIN", database);
  std::string limited = url;
  limited.replace(limited.find("user=postgres"), 13, "user=semel_gateway");
  EXPECT_FALSE(try_open(limited));
  server_.run(
      "GRANT USAGE ON SCHEMA semel TO semel_gateway; GRANT SELECT ON semel.schema_version, semel.shards TO "
      "semel_gateway;"
      "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA semel TO semel_gateway",
      database);
  open(limited);
  ASSERT_EQ(said(complete(key_of(1), take(key_of(1), 1))), "ok");
  EXPECT_EQ(*run(context_, store_->sweep(10)), 0U);
  EXPECT_EQ(server_.run("SELECT has_table_privilege('semel_gateway', 'semel.keys', 'SELECT')", database), "f");
}

// A database without the schema, or with one from the future, is refused with a word on what to do.
TEST_F(PostgresStoreTest, UnknownSchemaIsRefused) {
  server_.run("CREATE DATABASE empty");
  const auto empty = try_open(server_.url("empty"));
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().detail.find("semel migrate"), std::string::npos);

  ASSERT_TRUE(migrate_postgres(*clock_, server_.url("empty")));
  const auto again = migrate_postgres(*clock_, server_.url("empty"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->from, again->to);
  EXPECT_TRUE(try_open(server_.url("empty")));

  server_.run("INSERT INTO semel.schema_version VALUES (99)", "empty");
  const auto newer = try_open(server_.url("empty"));
  ASSERT_FALSE(newer);
  EXPECT_NE(newer.error().detail.find("newer"), std::string::npos);
  EXPECT_FALSE(migrate_postgres(*clock_, server_.url("empty")));
}

// No message repeats the password of an address, whatever is wrong with it.
TEST_F(PostgresStoreTest, PasswordStaysOutOfMessages) {
  for (const char* url : {"postgres://user:hunter2@[::1/x", "postgres://user:hunter2@127.0.0.1:1/x",
                          "postgres://user:hunter2@/x?hots=y", "postgres://user:hunter2@127.0.0.1:99999/x"}) {
    const auto opened = try_open(url, Millis{500});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().detail.find("hunter2"), std::string::npos) << opened.error().detail;
  }
}

// Settings by which the server can lose what it acknowledged are named.
TEST_F(PostgresStoreTest, DangerousSettingsAreNamed) {
  const auto found = store::postgres::inspect_postgres(*clock_, server_.url());
  ASSERT_TRUE(found) << found.error().detail;
  ASSERT_EQ(found->size(), 1U);
  EXPECT_NE(found->front().find("fsync"), std::string::npos);

  PostgresServer careless({"fsync = on", "synchronous_commit = off"});
  const auto other = store::postgres::inspect_postgres(*clock_, careless.fresh_database());
  ASSERT_TRUE(other) << other.error().detail;
  ASSERT_EQ(other->size(), 1U);
  EXPECT_NE(other->front().find("synchronous_commit"), std::string::npos);
}

// A pooler in transaction mode takes LISTEN and swallows what should be heard: that is found out and named.
TEST_F(PostgresStoreTest, PoolerThatSwallowsNotificationsIsNamed) {
  const auto found = store::postgres::inspect_postgres(*clock_, PgBouncer::shared().url());
  ASSERT_TRUE(found) << found.error().detail;
  ASSERT_EQ(found->size(), 2U);
  EXPECT_NE(found->back().find("NOTIFY"), std::string::npos);
}

}  // namespace
}  // namespace semel::test
