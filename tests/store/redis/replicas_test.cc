// With store.replicas nobody is told anything before the replicas have it.

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "store/redis/fixture.h"
#include "store/redis/layout.h"

namespace semel::test {
namespace {

class RedisReplicas : public RedisTest {
 protected:
  RedisReplicas() {
    const auto follows = [&] {
      return primary_.text({"INFO", "replication"}).find("state=online") != std::string::npos;
    };
    if (!eventually(follows)) throw std::runtime_error("the replica does not follow");
  }

  // A replica that has just come acknowledges for the first time up to a second later.
  bool follows_closely(Store& store) {
    std::uint64_t number = 5'000;
    const auto is_taken = [&] {
      ++number;
      return run_once(store, key_of(number), number) == "ok";
    };
    return eventually(is_taken);
  }

  store::CapableStore open_with_a_replica(Millis time_max) {
    store::redis::RedisOptions options = options_for(primary_);
    options.replicas = 1;
    options.time_max = time_max;
    prepare(options);
    store::CapableStore opened = open(options);
    EXPECT_TRUE(follows_closely(*opened.store));
    return opened;
  }

  const std::string port_ = std::to_string(free_port());
  RedisServer primary_{{"port " + port_, "bind 127.0.0.1", "repl-diskless-sync-delay 0"}};
  RedisServer replica_{{"replicaof 127.0.0.1 " + port_}};
};

// What was answered is on the replica; a replica that does not answer holds up everything, and is waited for.
TEST_F(RedisReplicas, HaveWhatWasAnswered) {
  store::CapableStore opened = open_with_a_replica(Millis{4'000});
  for (std::uint64_t i = 1; i <= 20; ++i) {
    ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok");
    ASSERT_EQ(replica_.run({"GET", store::redis::record_name(key_of(i).id)}).text.at(1), 'd') << i;
  }
  kill(replica_.pid(), SIGSTOP);
  EXPECT_EQ(run_once(*opened.store, key_of(30), 30), "unavailable");
  EXPECT_EQ(run_once(*opened.store, key_of(1), 31), "unavailable") << "also what was only read";
  kill(replica_.pid(), SIGCONT);
  EXPECT_TRUE(eventually([&] { return run_once(*opened.store, key_of(32), 32) == "ok"; }));
  EXPECT_EQ(run_once(*opened.store, key_of(30), 30), "ok") << "the claim of before is its own";
  EXPECT_EQ(lost(), 0U);
}

// A replica that is away does not make claims wait for as long as a call may take, one after the other: they are
// refused soon. The end of a claim waits for it.
TEST_F(RedisReplicas, AreNotWaitedForWithClaims) {
  store::CapableStore opened = open_with_a_replica(Millis{60'000});
  const Result<Claim> running = claim(*opened.store, key_of(1), 1);
  ASSERT_TRUE(running);
  kill(replica_.pid(), SIGSTOP);
  const auto begun = std::chrono::steady_clock::now();
  for (std::uint64_t i = 2; i <= 4; ++i) EXPECT_EQ(said(claim(*opened.store, key_of(i), i)), "unavailable");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
  std::thread waking([&] {
    std::this_thread::sleep_for(Millis{1'200});
    kill(replica_.pid(), SIGCONT);
  });
  const Fence fence = std::get<Granted>(*running).fence;
  EXPECT_EQ(said(run(context_, opened.store->complete(key_of(1), fence, answer_of("x")))), "ok");
  waking.join();
  EXPECT_TRUE(eventually([&] { return run_once(*opened.store, key_of(5), 5) == "ok"; }));
  EXPECT_EQ(run_once(*opened.store, key_of(2), 2), "ok") << "the claim of before is its own";
  EXPECT_EQ(lost(), 0U);
}

// A claim that comes while all connections wait for a replica in vain has waited before it is sent, and is refused
// within a second all the same. The shortest of three: the machine may be busy.
TEST_F(RedisReplicas, AreNotWaitedForLongerWithClaimsThatHadToQueue) {
  store::CapableStore opened = open_with_a_replica(Millis{60'000});
  auto shortest = std::chrono::steady_clock::duration::max();
  for (const std::uint64_t first : {10U, 20U, 30U}) {
    std::vector<Fence> fences;
    for (std::uint64_t i = first; i < first + 2; ++i) {
      const Result<Claim> running = claim(*opened.store, key_of(i), i);
      ASSERT_TRUE(running);
      fences.push_back(std::get<Granted>(*running).fence);
    }
    kill(replica_.pid(), SIGSTOP);
    std::vector<std::thread> ending;
    for (std::size_t i = 0; i < fences.size(); ++i) {
      ending.emplace_back([&, i] {
        boost::asio::io_context own{1};
        EXPECT_EQ(said(run(own, opened.store->complete(key_of(first + i), fences[i], answer_of("x")))), "ok");
      });
      std::this_thread::sleep_for(Millis{30});  // each has a connection to itself
    }
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(said(claim(*opened.store, key_of(first + 5), first + 5)), "unavailable");
    shortest = std::min(shortest, std::chrono::steady_clock::now() - begun);
    kill(replica_.pid(), SIGCONT);
    for (std::thread& each : ending) each.join();
    ASSERT_TRUE(follows_closely(*opened.store));
  }
  EXPECT_LT(shortest, std::chrono::seconds(1));
}

// More replicas than there are: refused.
TEST_F(RedisReplicas, AreCounted) {
  store::redis::RedisOptions options = options_for(primary_);
  options.replicas = 2;
  EXPECT_NE(refusal(options).find("1 replica(s)"), std::string::npos) << refusal(options);
  const auto report = store::redis::inspect_redis(*clock_, options_for(primary_));
  EXPECT_FALSE(report) << "nobody has prepared it";
}

}  // namespace
}  // namespace semel::test
