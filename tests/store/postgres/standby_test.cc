// Commits that wait for a synchronous standby: nobody is told of what a failover could lose.

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <variant>

#include <gtest/gtest.h>

#include "store/postgres/fixture.h"
#include "support/postgres_server.h"

namespace semel::test {
namespace {

struct Told {
  Result<Claim> answer;
  std::atomic<bool> told = false;
};

Task<void> claim_one(Store* store, Key key, Terms terms, Told* told) {
  const Fingerprint fingerprint = fingerprint_of(1);
  told->answer = co_await store->claim(key, fingerprint, terms);
  told->told = true;
}

class PostgresSync : public PostgresTest {
 protected:
  static std::string waiting_for_standby() {
    return "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  }
  // Without the pulse, which waits as well.
  static std::string claims_waiting_for_standby(const std::string& what) {
    return "SELECT " + what + " FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%semel.claim%'";
  }
  // Commits wait for a standby that is not there; `alone` lets them go on without.
  void wait_for_standby() { configure("ghost"); }
  void alone() { configure(""); }
  void configure(const std::string& standbys) {
    server_.run("ALTER SYSTEM SET synchronous_standby_names = '" + standbys + "'");
    server_.run("SELECT pg_reload_conf()");
    ASSERT_TRUE(soon([&] { return server_.run("SHOW synchronous_standby_names") == standbys; }));
    std::this_thread::sleep_for(Millis{200});  // the checkpointer, which tells the others, has heard of it too
  }

  PostgresServer server_;
};

// An operator cancels the wait for a standby, time and again: PostgreSQL then calls it a success and only warns. Nobody
// is told so before the claim has been written again and the standby has that.
TEST_F(PostgresSync, CancelledWaitIsNotTakenForADurableCommit) {
  open(server_.fresh_database(), Millis{20'000}, 1);
  take(key_of(1), 1);
  wait_for_standby();
  auto waiting = claim_later(key_of(2), 2);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(soon([&] { return server_.run(waiting_for_standby()) == "1"; }));
    server_.run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    ASSERT_FALSE(ready(waiting));
  }
  ASSERT_TRUE(soon([&] { return server_.run(waiting_for_standby()) == "1"; }));
  ASSERT_FALSE(ready(waiting));
  alone();
  const Result<Claim> claimed = waiting.get();
  ASSERT_EQ(said(claimed), "ok");
  EXPECT_EQ(std::get<Granted>(*claimed).fence, (Fence{.number = 1, .owner = 2}));
}

// The same for two claims of one key that went together. The row of the first can be read then, but a failover would
// lose it: neither is told anything by what can be read.
TEST_F(PostgresSync, ClaimsThatMeetAreNotToldOfACommitWhoseWaitWasCancelled) {
  const std::string url = server_.fresh_database();
  open(url, Millis{20'000}, 1);
  take(key_of(1), 1);
  wait_for_standby();
  Told other;  // only reads, and so waits for no standby
  Told first;
  Told second;
  const auto start_all = [&](boost::asio::io_context& context) {
    start(context, claim_one(store_.get(), key_of(1), terms_of(4), &other));
    start(context, claim_one(store_.get(), key_of(2), terms_of(2), &first));
    start(context, claim_one(store_.get(), key_of(2), terms_of(3), &second));
  };
  gather(url, start_all, [&] {
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(soon([&] { return server_.run(claims_waiting_for_standby("count(*)")) == "1"; })) << i;
      EXPECT_FALSE(first.told) << i;
      EXPECT_FALSE(second.told) << i;
      if (HasFailure()) break;
      if (i < 4) server_.run(claims_waiting_for_standby("pg_cancel_backend(pid)"));
    }
    alone();
  });
  ASSERT_EQ(said(first.answer), "ok");
  EXPECT_EQ(std::get<Granted>(*first.answer).fence, (Fence{.number = 1, .owner = 2}));
  ASSERT_EQ(said(second.answer), "ok");
  EXPECT_TRUE(std::holds_alternative<Held>(*second.answer));
}

// A claim whose answer was lost is asked for again, and goes with another claim of its key, which was first. The other
// only reads. What it has read does not grant the first one its claim: that is written again.
TEST_F(PostgresSync, ClaimThatIsAskedForAgainBesideAnotherIsWrittenAgain) {
  const std::string url = server_.fresh_database();
  open(url, Millis{20'000}, 1);
  take(key_of(1), 1);
  take(key_of(2), 2);
  wait_for_standby();
  Told reader;
  Told other;
  Told again;
  const auto start_all = [&](boost::asio::io_context& context) {
    start(context, claim_one(store_.get(), key_of(1), terms_of(4), &reader));
    start(context, claim_one(store_.get(), key_of(2), terms_of(3), &other));
    start(context, claim_one(store_.get(), key_of(2), terms_of(2), &again));
  };
  gather(url, start_all, [&] {
    EXPECT_TRUE(soon([&] { return server_.run(claims_waiting_for_standby("count(*)")) == "1"; }));
    EXPECT_TRUE(other.told);
    EXPECT_FALSE(again.told);
    alone();
  });
  ASSERT_EQ(said(other.answer), "ok");
  EXPECT_TRUE(std::holds_alternative<Held>(*other.answer));
  ASSERT_EQ(said(again.answer), "ok");
  EXPECT_EQ(std::get<Granted>(*again.answer).fence, (Fence{.number = 1, .owner = 2}));
  EXPECT_EQ(server_.run("SELECT touched FROM semel.keys WHERE owner = 2", "test_1"), "1");
}

// The standby never answers: callers get an error in their time and no cancel is sent, so the row stays invisible and
// blocks the key; a repetition does not run beside it. When the standby is back, the claim is the owner's.
TEST_F(PostgresSync, StandbyThatNeverAnswersGrantsNothing) {
  open(server_.fresh_database(), Millis{500}, 2);
  take(key_of(1), 1);
  wait_for_standby();
  EXPECT_EQ(said(claim(key_of(2), 2)), "unavailable");
  const Result<void> released = run(context_, store_->release(key_of(2), {.number = 1, .owner = 2}));
  EXPECT_EQ(said(released), "fenced") << "nobody sees the claim yet, so its owner has to give it back again later";
  const Time begun = clock_->now();
  EXPECT_EQ(said(claim(key_of(2), 3)), "unavailable");
  EXPECT_LT(since(begun), Millis{1'500});
  EXPECT_NE(server_.run(waiting_for_standby()), "0");
  alone();
  ASSERT_TRUE(soon([&] { return claim(key_of(2), 2).has_value(); }));
  const Result<Claim> mine = claim(key_of(2), 2);
  ASSERT_EQ(said(mine), "ok");
  EXPECT_TRUE(std::holds_alternative<Granted>(*mine));
}

// A standby that hangs for long does not use up the server's connections, and when it is back all is well.
TEST_F(PostgresSync, StandbyThatHangsDoesNotUseUpConnections) {
  open(server_.fresh_database(), Millis{200}, 2);
  wait_for_standby();
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_EQ(said(claim(key_of(i), i + 1)), "unavailable");
  const std::string connections = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'semel'";
  EXPECT_LE(std::stoi(server_.run(connections)), 8);
  alone();
  ASSERT_TRUE(soon([&] { return claim(key_of(100), 100).has_value(); }));
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_EQ(take(key_of(i), i + 1).number, 1U);
  EXPECT_LE(std::stoi(server_.run(connections)), 3);
}

}  // namespace
}  // namespace semel::test
