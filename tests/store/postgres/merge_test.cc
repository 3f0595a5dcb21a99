// Claims, renewals and ends in one transaction: that they are, that claims do not hold up ends, that what was not heard
// of is recognised, and that batches do not wait for each other in a circle.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "store/postgres/fixture.h"
#include "store/postgres/own_connection.h"
#include "support/postgres_server.h"
#include "support/relay.h"

namespace semel::test {
namespace {

using Steady = std::chrono::steady_clock;

class PostgresMerge : public PostgresTest {
 protected:
  PostgresServer server_{{"deadlock_timeout = 10ms", "track_functions = all"}};
  std::string url_ = server_.fresh_database();

  [[nodiscard]] std::string ask(const std::string& sql) const { return server_.run(sql, "test_1"); }
  // How many batches of several kinds there were.
  [[nodiscard]] std::uint64_t merged() const {
    return std::stoull(ask("SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'batch_6'"));
  }
};

// What the server's log says of them.
std::string circles_in(const std::filesystem::path& log) {
  std::ifstream file(log);
  std::string told;
  int lines = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find("deadlock detected") != std::string::npos) lines = 16;
    if (lines-- > 0) told += line.substr(0, 400) + "\n";
  }
  return told;
}

struct Told {
  std::string word = "nothing";
  Millis after{0};
};

Task<void> claim_one(Store* store, Key key, Terms terms, Told* told) {
  const auto begun = Steady::now();
  const Fingerprint fingerprint = fingerprint_of(1);
  const Result<Claim> claimed = co_await store->claim(key, fingerprint, terms);
  told->word = said(claimed);
  told->after = std::chrono::duration_cast<Millis>(Steady::now() - begun);
}

Task<void> end_one(Store* store, Key key, Fence fence, Told* told) {
  const auto begun = Steady::now();
  const SharedResponse response = answer_of("kept");
  const Result<void> completed = co_await store->complete(key, fence, response);
  told->word = said(completed);
  told->after = std::chrono::duration_cast<Millis>(Steady::now() - begun);
}

Task<void> renew_one(Store* store, Key key, Fence fence, Told* told) {
  const Result<void> renewed = co_await store->renew(key, fence, ample);
  told->word = said(renewed);
}

Task<void> release_one(Store* store, Key key, Fence fence, Told* told) {
  const Result<void> released = co_await store->release(key, fence);
  told->word = said(released);
}

// Calls of each kind that wait together are one transaction.
TEST_F(PostgresMerge, CallsOfAllKindsShareATransaction) {
  open(url_, Millis{5'000}, 1);
  const Fence ended = take(key_of(1), 1);
  const Fence renewed = take(key_of(2), 2);
  const Fence released = take(key_of(3), 3);
  std::vector<Told> told(5);
  gather(url_, [&](boost::asio::io_context& context) {
    start(context, claim_one(store_.get(), key_of(4), terms_of(4), &told[0]));
    start(context, claim_one(store_.get(), key_of(5), terms_of(5), &told[1]));
    start(context, end_one(store_.get(), key_of(1), ended, &told[2]));
    start(context, renew_one(store_.get(), key_of(2), renewed, &told[3]));
    start(context, release_one(store_.get(), key_of(3), released, &told[4]));
  });
  for (const Told& each : told) EXPECT_EQ(each.word, "ok");
  EXPECT_EQ(ask("SELECT string_agg(state::text, ' ' ORDER BY owner) FROM semel.keys"),
            "done running released running running");
  EXPECT_EQ(ask("SELECT count(DISTINCT xmin::text) FROM semel.keys WHERE owner IN (1, 2, 3, 5)"), "1");
}

// Another session holds a key that is claimed. The end that went with the claim is soon tried by itself; the claim has
// to wait.
TEST_F(PostgresMerge, BlockedClaimHoldsUpNoEnd) {
  open(url_, Millis{5'000}, 1);
  const Fence fence = take(key_of(1), 1);
  take(key_of(2), 2);
  const DatabaseConnection other(url_);
  other.run("CREATE TEMPORARY TABLE copy AS SELECT * FROM semel.keys WHERE owner = 2");
  other.run("DELETE FROM semel.keys WHERE owner = 2");
  other.run("BEGIN; INSERT INTO semel.keys SELECT * FROM copy");
  std::vector<Told> told(3);
  gather(url_, [&](boost::asio::io_context& context) {
    start(context, claim_one(store_.get(), key_of(3), terms_of(3), &told[0]));
    start(context, claim_one(store_.get(), key_of(2), terms_of(4), &told[1]));
    start(context, end_one(store_.get(), key_of(1), fence, &told[2]));
  });
  EXPECT_EQ(told[2].word, "ok");
  EXPECT_LT(told[2].after, Millis{300}) << "claims wait for 300 ms before they are tried one by one";
  EXPECT_EQ(told[1].word, "unavailable");
  EXPECT_GE(told[1].after, Millis{300});
  other.run("COMMIT");
  EXPECT_TRUE(std::holds_alternative<Held>(*claim(key_of(2), 5)));
  store_.reset();  // a connection reports what it did when it ends
  const std::string failed = "SELECT calls FROM pg_stat_user_functions WHERE funcname = 'batch_6'";
  EXPECT_TRUE(soon([&] { return ask(failed) == "0"; })) << "they were sent together, in a call that failed";
}

struct Lane {
  Store* store;
  std::uint64_t first;  // of its keys, which nobody else claims
  Steady::time_point until;
  std::atomic<std::uint64_t>* ended;
};

// Repeats what was refused, as once() does.
Task<void> claim_and_end(Lane lane) {
  const Fingerprint fingerprint = fingerprint_of(1);
  const SharedResponse response = answer_of("kept");
  for (std::uint64_t number = lane.first; Steady::now() < lane.until; ++number) {
    const auto key = make_key("orders", "tenant", "key " + std::to_string(number));
    Terms terms;
    terms.lease = ample;
    terms.ttl = ample;
    terms.owner = number;
    Result<Claim> claimed = co_await lane.store->claim(*key, fingerprint, terms);
    while (said(claimed) == "unavailable") claimed = co_await lane.store->claim(*key, fingerprint, terms);
    EXPECT_EQ(said(claimed), "ok");
    if (!claimed || !std::holds_alternative<Granted>(*claimed)) {
      ADD_FAILURE() << "the key is held by somebody else";
      co_return;
    }
    const Fence fence = std::get<Granted>(*claimed).fence;
    Result<void> ended = co_await lane.store->complete(*key, fence, response);
    while (said(ended) == "unavailable") ended = co_await lane.store->complete(*key, fence, response);
    EXPECT_EQ(said(ended), "ok");
    ++*lane.ended;
  }
}

// Connections are lost after the server has committed and before we hear of it, under load: each claim and each end
// finds its own work when it is repeated.
TEST_F(PostgresMerge, CallsWhoseCommitWasNotHeardOfAreRecognised) {
  Relay relay(server_.folder(), 7'011, (server_.folder() / ".s.PGSQL.5432").string());
  open(url_ + "&port=7011", Millis{10'000}, 1);
  std::atomic<std::uint64_t> ended = 0;
  const auto until = Steady::now() + std::chrono::seconds(3);
  crew_.run(2, [&](std::size_t thread, boost::asio::io_context& context) {
    if (thread == 0) {
      for (std::uint64_t lane = 1; lane <= 32; ++lane) {
        start(context,
              claim_and_end({.store = store_.get(), .first = lane * 1'000'000, .until = until, .ended = &ended}));
      }
      context.run();
      return;
    }
    while (Steady::now() < until) {
      std::this_thread::sleep_for(Millis{50});
      relay.deaf();
      std::this_thread::sleep_for(Millis{20});
      relay.cut();
      relay.pass();
    }
  });
  const std::string count = std::to_string(ended);
  EXPECT_EQ(ask("SELECT count(*) FROM semel.keys WHERE state = 'done' AND fence = 1"), count);
  EXPECT_EQ(ask("SELECT count(*) FROM semel.keys"), count);
  EXPECT_NE(ask("SELECT count(*) FROM semel.keys WHERE touched > 0"), "0");
}

// Two gateways that claim the same keys, and end and renew them, all the time.
struct Crossing {
  static constexpr std::uint64_t keys = 48;  // at a time
  static constexpr Millis epoch{40};         // after which there are others
  Steady::time_point begun = Steady::now();
  Steady::time_point until;
  std::atomic<std::uint64_t> owners = 0;
  std::atomic<std::uint64_t> granted = 0;
  std::atomic<std::uint64_t> held = 0;
  std::atomic<std::uint64_t> released = 0;
};

Task<void> cross(Store* store, Crossing* crossing, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const SharedResponse response = answer_of("kept");
  while (Steady::now() < crossing->until) {
    const auto epoch = static_cast<std::uint64_t>((Steady::now() - crossing->begun) / Crossing::epoch);
    const std::uint64_t number = (epoch * Crossing::keys) + (random() % Crossing::keys);
    const auto key = make_key("orders", "tenant", "key " + std::to_string(number));
    const Fingerprint fingerprint = fingerprint_of(1);
    Terms terms;
    terms.lease = ample;
    terms.ttl = ample;
    terms.owner = ++crossing->owners;
    const Result<Claim> claimed = co_await store->claim(*key, fingerprint, terms);
    EXPECT_EQ(said(claimed), "ok");
    if (!claimed) co_return;
    const auto* const mine = std::get_if<Granted>(&*claimed);
    ++(mine != nullptr ? crossing->granted : crossing->held);
    if (mine == nullptr) continue;
    const Fence fence = mine->fence;
    if (random() % 4 == 0) {
      const Result<void> renewed = co_await store->renew(*key, fence, ample);
      EXPECT_EQ(said(renewed), "ok");
    }
    const bool gives_back = random() % 8 == 0;
    if (gives_back) ++crossing->released;
    const Result<void> ended =
        gives_back ? co_await store->release(*key, fence) : co_await store->complete(*key, fence, response);
    EXPECT_EQ(said(ended), "ok");
  }
}

// How long they do; ten minutes are set by hand.
std::chrono::seconds crossing_time() {
  const char* const seconds = std::getenv("SEMEL_CROSSING_SECONDS");
  return std::chrono::seconds(seconds == nullptr ? 4 : std::atoi(seconds));
}

// The server looks for circles after 10 ms, before any lock is given up.
TEST_F(PostgresMerge, GatewaysThatCrossKeysInAllKindsMakeNoCircle) {
  open(url_, Millis{5'000}, 2);
  auto other = try_open(url_, Millis{5'000}, 2);
  ASSERT_TRUE(other) << other.error().detail;
  Crossing crossing{.until = Steady::now() + crossing_time()};
  crew_.run(2, [&](std::size_t thread, boost::asio::io_context& context) {
    Store* const store = thread == 0 ? store_.get() : other->store.get();
    for (std::uint64_t lane = 0; lane < 64; ++lane) start(context, cross(store, &crossing, (thread * 64) + lane));
    context.run();
  });
  // A key is granted once, and once more for each time that it was given back.
  EXPECT_EQ(ask("SELECT sum(fence) FROM semel.keys"), std::to_string(crossing.granted));
  EXPECT_EQ(ask("SELECT count(*) FROM semel.keys WHERE state = 'running'"), "0");
  EXPECT_GT(crossing.held, crossing.granted);
  store_.reset();  // a connection reports what it did when it ends
  other->store.reset();
  EXPECT_TRUE(soon([&] { return merged() > 100; })) << merged();
  EXPECT_EQ(ask("SELECT deadlocks FROM pg_stat_database WHERE datname = 'test_1'"), "0")
      << circles_in(server_.folder() / "server.log");
  std::printf("granted %llu, held %llu, given back %llu, merged batches %llu\n",
              static_cast<unsigned long long>(crossing.granted), static_cast<unsigned long long>(crossing.held),
              static_cast<unsigned long long>(crossing.released), static_cast<unsigned long long>(merged()));
}

}  // namespace
}  // namespace semel::test
