// What networks, operators and crashes do to a PostgreSQL store, and what must come of it.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <variant>

#include <gtest/gtest.h>

#include "store/postgres/fixture.h"
#include "support/postgres_server.h"
#include "support/relay.h"

namespace semel::test {
namespace {

class PostgresFault : public PostgresTest {};

// While the server is down claims are refused at once; when it is back they are granted, by the same store.
TEST_F(PostgresFault, RefusesQuicklyWhileTheServerIsDownAndRecoversByItself) {
  PostgresServer server;
  open(server.fresh_database());
  take(key_of(1), 1);
  server.crash();

  Time begun = clock_->now();
  EXPECT_EQ(said(claim(key_of(2), 2)), "unavailable");
  EXPECT_LT(since(begun), Millis{1'000});
  begun = clock_->now();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(said(claim(key_of(2), 2)), "unavailable");
  EXPECT_LT(since(begun), Millis{1'000});

  server.start();
  EXPECT_TRUE(soon([&] { return claim(key_of(2), 2).has_value(); }));
  EXPECT_EQ(complete(key_of(1), take(key_of(1), 1)).has_value(), true);
}

// An outcome waits for a server that is being restarted: what it tells of has happened, and a quick refusal would lose
// it.
TEST_F(PostgresFault, OutcomeWaitsForTheServerToComeBack) {
  PostgresServer server;
  open(server.fresh_database());
  const Fence fence = take(key_of(1), 1);
  server.crash();
  auto waiting = std::async(std::launch::async, [&] {
    boost::asio::io_context context{1};
    return run(context, store_->complete(key_of(1), fence, answer_of("kept")));
  });
  std::this_thread::sleep_for(Millis{700});
  server.start();  // by this thread: a server ends with the thread that started it
  EXPECT_EQ(said(waiting.get()), "ok");
}

// The connection is lost after the server has committed and before we hear of it, a hundred times: the row itself says
// that the claim is ours, after it was written again, and there is no second attempt.
TEST_F(PostgresFault, ClaimWhoseCommitWasNotHeardOfIsFoundByItsOwner) {
  PostgresServer& server = PostgresServer::shared();
  server.run("TRUNCATE semel.keys, semel.objects");
  Relay relay(server.folder(), 7'001, (server.folder() / ".s.PGSQL.5432").string());
  open(server.url() + "&port=7001", Millis{10'000}, 1);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    const Key key = key_of(i);
    ASSERT_TRUE(soon([&] { return claim(key_of(1'000'000 + i), i).has_value(); }));  // there is a connection
    relay.deaf();
    auto waiting = claim_later(key, i);
    ASSERT_TRUE(
        soon([&] { return server.run("SELECT count(*) FROM semel.keys WHERE owner = " + std::to_string(i)) == "2"; }));
    ASSERT_FALSE(ready(waiting));
    relay.cut();
    Result<Claim> claimed = waiting.get();
    // A new connection may take longer than claims are made to wait for one, on a busy machine. Then its owner asks
    // again, as once() does.
    const auto heard = [&] {
      if (said(claimed) == "unavailable") claimed = claim(key, i);
      return said(claimed) != "unavailable";
    };
    ASSERT_TRUE(soon(heard));
    ASSERT_EQ(said(claimed), "ok");
    ASSERT_TRUE(std::holds_alternative<Granted>(*claimed));
    EXPECT_EQ(std::get<Granted>(*claimed).fence, (Fence{.number = 1, .owner = i}));
  }
  EXPECT_EQ(server.run("SELECT count(*) FROM semel.keys WHERE fence = 1"), "200");
  EXPECT_EQ(server.run("SELECT count(*) FROM semel.keys WHERE touched > 0"), "100");
}

// The same for a completion: repeating it keeps the first response and says that it is there.
TEST_F(PostgresFault, CompletionWhoseCommitWasNotHeardOfIsRepeated) {
  PostgresServer& server = PostgresServer::shared();
  server.run("TRUNCATE semel.keys, semel.objects");
  Relay relay(server.folder(), 7'002, (server.folder() / ".s.PGSQL.5432").string());
  open(server.url() + "&port=7002", Millis{10'000}, 1);
  const Fence fence = take(key_of(1), 1);
  relay.deaf();
  auto waiting = std::async(std::launch::async, [&] {
    boost::asio::io_context context{1};
    return run(context, store_->complete(key_of(1), fence, answer_of("kept")));
  });
  ASSERT_TRUE(soon([&] { return server.run("SELECT count(*) FROM semel.keys WHERE state = 'done'") == "1"; }));
  relay.cut();
  EXPECT_EQ(said(waiting.get()), "ok");
  EXPECT_EQ(server.run("SELECT touched FROM semel.keys"), "1");
}

// The same for a reopening: the repetition finds its own work, and says that the key was freed.
TEST_F(PostgresFault, ReopeningWhoseCommitWasNotHeardOfIsRepeated) {
  PostgresServer& server = PostgresServer::shared();
  server.run("TRUNCATE semel.keys, semel.objects");
  Relay relay(server.folder(), 7'004, (server.folder() / ".s.PGSQL.5432").string());
  auto opened = try_open(server.url() + "&port=7004", Millis{10'000}, 1);
  ASSERT_TRUE(opened) << opened.error().detail;
  store_ = std::move(opened->store);
  ASSERT_EQ(said(complete(key_of(1), take(key_of(1), 1))), "ok");
  relay.deaf();
  auto waiting = std::async(std::launch::async, [&] {
    boost::asio::io_context context{1};
    return run(context, opened->reopening->reopen(key_of(1)));
  });
  ASSERT_TRUE(soon([&] { return server.run("SELECT count(*) FROM semel.keys WHERE state = 'released'") == "1"; }));
  relay.cut();
  const Result<bool> reopened = waiting.get();
  ASSERT_TRUE(reopened) << reopened.error().detail;
  EXPECT_TRUE(*reopened);
  EXPECT_FALSE(*run(context_, opened->reopening->reopen(key_of(1)))) << "another one has nothing to free";
  EXPECT_EQ(take(key_of(1), 2).number, 2U);
}

// A network that swallows every answer: the call ends in its time, and nobody is told that it failed for good.
TEST_F(PostgresFault, CallEndsInItsTimeWhenNoAnswerComes) {
  PostgresServer& server = PostgresServer::shared();
  server.run("TRUNCATE semel.keys, semel.objects");
  Relay relay(server.folder(), 7'003, (server.folder() / ".s.PGSQL.5432").string());
  open(server.url() + "&port=7003", Millis{400}, 2);
  take(key_of(1), 1);
  relay.deaf();
  const Time begun = clock_->now();
  EXPECT_EQ(said(claim(key_of(2), 2)), "unavailable");
  EXPECT_LT(since(begun), Millis{1'500});
  relay.pass();
  EXPECT_TRUE(soon([&] { return claim(key_of(2), 2).has_value(); }));
  EXPECT_EQ(std::get<Granted>(*claim(key_of(2), 2)).fence.number, 1U);
}

// A replica is refused when the store is opened, and when the primary becomes one; as a primary it is used again.
TEST_F(PostgresFault, ReplicaIsRefused) {
  PostgresServer server;
  const std::string url = server.fresh_database();
  open(url);
  take(key_of(1), 1);
  const auto standby = server.folder() / "data" / "standby.signal";
  server.crash();
  std::ofstream(standby).close();
  server.start();
  EXPECT_FALSE(try_open(url));
  EXPECT_EQ(said(claim(key_of(1), 2)), "unavailable") << "a replica answers nothing, not even what is held";
  server.crash();
  std::filesystem::remove(standby);
  server.start();
  EXPECT_TRUE(soon([&] { return claim(key_of(2), 2).has_value(); }));
}

// After a failover the server that was primary before comes back under the same address: its timeline gives it away,
// and nothing that it says is believed, by the gateway that runs and by one that kept the timeline over its restart.
TEST_F(PostgresFault, FormerPrimaryIsRefused) {
  PostgresServer server;
  const std::string url = server.fresh_database();
  const auto data = server.folder() / "data";
  const auto before = server.folder() / "before";
  server.crash();
  run_unprivileged({"cp", "-a", data.string(), before.string()}, "/dev/null");
  std::ofstream(data / "standby.signal").close();
  server.start();
  server.run("SELECT pg_promote()");

  PostgresOptions options;
  options.urls = {url};
  options.state_folder = server.folder() / "state";
  ASSERT_TRUE(open_postgres_store(*clock_, options));
  open(url);
  take(key_of(1), 1);
  server.crash();
  std::filesystem::rename(data, server.folder() / "after");
  std::filesystem::rename(before, data);
  server.start();
  const auto restarted = open_postgres_store(*clock_, options);
  ASSERT_FALSE(restarted) << "it had seen the other one";
  EXPECT_NE(restarted.error().detail.find("former primary"), std::string::npos) << restarted.error().detail;
  for (int i = 0; i < 5; ++i) {
    const Result<Claim> claimed = claim(key_of(1), 2);
    ASSERT_EQ(said(claimed), "unavailable") << "the former primary does not know of the claim";
    std::this_thread::sleep_for(Millis{100});
  }
  EXPECT_TRUE(soon([&] { return claim(key_of(1), 2).error().detail.find("former primary") != std::string::npos; }));
}

// The address names two hosts, and the first of them comes back as a former primary: the other one is used, by a
// gateway that runs and by one that is started then.
TEST_F(PostgresFault, NextHostIsUsedInPlaceOfAFormerPrimary) {
  PostgresServer former;
  former.fresh_database();
  PostgresServer later;
  former.crash();
  later.crash();
  const auto data = later.folder() / "data";
  std::filesystem::remove_all(data);
  run_unprivileged({"cp", "-a", (former.folder() / "data").string(), data.string()}, "/dev/null");
  std::ofstream(data / "postgresql.conf", std::ios::app)
      << "unix_socket_directories = '" << later.folder().string() << "'\n";
  std::ofstream(data / "standby.signal").close();
  later.start();
  later.run("SELECT pg_promote()");
  const std::string url =
      "postgres:///test_1?host=" + former.folder().string() + "," + later.folder().string() + "&user=postgres";

  open(url);
  ASSERT_EQ(said(complete(key_of(1), take(key_of(1), 1))), "ok");
  former.start();
  later.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'semel'");
  Result<Claim> claimed;
  ASSERT_TRUE(soon([&] {
    claimed = claim(key_of(1), 2);
    return claimed.has_value();
  })) << claimed.error().detail;
  EXPECT_TRUE(std::holds_alternative<Held>(*claimed));
  open(url);
  EXPECT_TRUE(std::holds_alternative<Held>(*claim(key_of(1), 3)));
}

// The address leads to another database all of a sudden, which has none of the keys: refused.
TEST_F(PostgresFault, AnotherDatabaseIsRefused) {
  PostgresServer server;
  open(server.fresh_database());
  take(key_of(1), 1);
  server.run("UPDATE semel.shards SET shard = gen_random_uuid()", "test_1");
  server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'semel'", "test_1");
  Result<Claim> claimed;
  EXPECT_TRUE(soon([&] {
    claimed = claim(key_of(2), 2);
    return !claimed && claimed.error().detail.find("another database") != std::string::npos;
  })) << (claimed ? "claimed" : claimed.error().detail);
}

}  // namespace
}  // namespace semel::test
