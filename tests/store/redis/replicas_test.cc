// With store.replicas nobody is told anything before the replicas have it.

#include <chrono>
#include <string>
#include <thread>

#include <signal.h>

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

  const std::string port_ = std::to_string(free_port());
  RedisServer primary_{{"port " + port_, "bind 127.0.0.1", "repl-diskless-sync-delay 0"}};
  RedisServer replica_{{"replicaof 127.0.0.1 " + port_}};
};

// What was answered is on the replica; a replica that does not answer holds up everything, and is waited for.
TEST_F(RedisReplicas, HaveWhatWasAnswered) {
  store::redis::RedisOptions options = options_for(primary_);
  options.replicas = 1;
  options.time_max = Millis{4'000};
  prepare(options);
  store::CapableStore opened = open(options);
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
