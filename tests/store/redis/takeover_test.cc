// A replica takes over without asking anybody, and lacks what was acknowledged: every lost call is in the count, also
// if the store has never heard of that replica.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include "store/redis/buckets.h"
#include "store/redis/fixture.h"
#include "support/redis_cluster.h"

namespace semel::test {
namespace {

const store::redis::Buckets buckets(core::RedisUrl::Setup::cluster);

class RedisTakeovers : public RedisTest {
 protected:
  RedisTakeovers() { prepare(options()); }

  store::redis::RedisOptions options() {
    store::redis::RedisOptions options = options_for(*cluster_.servers().front());
    options.url = cluster_.url();
    options.time_max = Millis{10'000};
    return options;
  }

  bool is_there(const Key& key) { return cluster_.primary_of(buckets.slot(buckets.of(key))) == victim_; }
  // Ends keys with these numbers; returns how many of them are on the victim.
  std::uint64_t run_some(Store& store, std::uint64_t from, std::uint64_t to) {
    std::vector<Result<Claim>> claims(to - from + 1, fail(Code::invalid, "not asked"));
    for (std::uint64_t i = from; i <= to; ++i) {
      Terms terms;
      terms.owner = i;
      boost::asio::co_spawn(
          context_.get_executor(), store.claim(key_of(i), fingerprint_of(1), terms),
          [&, i](const std::exception_ptr&, Result<Claim> told) { claims[i - from] = std::move(told); });
    }
    context_.restart();
    context_.run();
    std::uint64_t there = 0;
    for (std::uint64_t i = from; i <= to; ++i) {
      if (!claims[i - from]) throw std::runtime_error("key " + std::to_string(i));
      const Fence fence = std::get<Granted>(*claims[i - from]).fence;
      if (!run(context_, store.complete(key_of(i), fence, answer_of("x")))) throw std::runtime_error("an end");
      if (is_there(key_of(i))) ++there;
    }
    return there;
  }
  [[nodiscard]] RedisServer& victim() const { return *cluster_.servers().at(victim_); }

  // The replica has what there is, and gets nothing any more: it may not log in. One that has just come may get its
  // first commands up to a second later; promoted before, it would be empty.
  void cut_off(RedisServer& replica) {
    const auto is_level = [&] { return replica.text({"DBSIZE"}) == victim().text({"DBSIZE"}); };
    if (!eventually(is_level)) throw std::runtime_error("the replica lags behind");
    replica.run({"CONFIG", "SET", "masteruser", "nobody", "masterauth", "nothing"});
    victim().run({"CLIENT", "KILL", "TYPE", "replica"});
    const auto is_cut = [&] { return link_of(replica) == "down"; };
    if (!eventually(is_cut)) throw std::runtime_error("the replica still follows");
  }
  static std::string link_of(const RedisServer& replica) {
    const std::string info = replica.text({"INFO", "replication"});
    const std::size_t at = info.find("master_link_status:");
    return at == std::string::npos ? std::string() : info.substr(at + 19, info.find('\r', at) - at - 19);
  }
  // A seventh server that joins as another replica of the victim.
  std::unique_ptr<RedisServer> join() {
    const std::string port = std::to_string(free_port());
    const std::string bus = std::to_string(free_port());
    auto server = std::make_unique<RedisServer>(std::vector<std::string>{
        "port " + port, "bind 127.0.0.1", "cluster-enabled yes", "cluster-port " + bus, "cluster-node-timeout 1000",
        "repl-diskless-sync-delay 0", "cluster-config-file nodes.conf"});
    server->run({"CLUSTER", "MEET", "127.0.0.1", std::to_string(cluster_.port(victim_)), cluster_.bus(victim_)});
    const auto is_told = [&] { return server->run({"CLUSTER", "REPLICATE", cluster_.id(victim_)}).text == "OK"; };
    const auto follows = [&] { return link_of(*server) == "up"; };
    if (!eventually(is_told) || !eventually(follows)) throw std::runtime_error("the new replica does not follow");
    return server;
  }
  void take_over(const RedisServer& replica) {
    const std::string answer = replica.run({"CLUSTER", "FAILOVER", "TAKEOVER"}).text;
    if (answer != "OK") throw std::runtime_error("no takeover: " + answer);
    const auto is_known = [&] { return victim().run({"ROLE"}).items.at(0).text == "slave"; };
    if (!eventually(is_known)) throw std::runtime_error("nobody has heard of the takeover");
  }
  // A new key of the victim's is taken.
  bool goes_on(Store& store) {
    std::uint64_t number = 1'000;
    const auto is_taken = [&] {
      const std::size_t bucket = buckets.of(key_of(1));
      Key key = key_of(++number);
      key.home = buckets.home(bucket);
      said_ = run_once(store, key, number);
      return said_ == "ok";
    };
    return eventually(is_taken);
  }

  std::string said_;
  RedisCluster cluster_;
  const std::size_t victim_ = cluster_.primary_of(buckets.slot(buckets.of(key_of(1))));
};

// Calls go over both connections, and only one of them is used afterwards: what was acknowledged over the other one is
// in the count, too.
TEST_F(RedisTakeovers, AreMissedByThoseWhoKnowTheReplica) {
  const store::CapableStore opened = open(options());
  run_some(*opened.store, 1, 30);
  RedisServer& replica = *cluster_.servers().at(cluster_.replica_of(victim_));
  cut_off(replica);
  const std::uint64_t there = run_some(*opened.store, 31, 130);
  ASSERT_GT(there, 5U);
  take_over(replica);
  EXPECT_TRUE(goes_on(*opened.store)) << said_;
  EXPECT_TRUE(eventually([&] { return lost() == 2 * there; })) << lost() << " of " << 2 * there;
}

// Nobody makes a call afterwards: it is noticed all the same.
TEST_F(RedisTakeovers, AreMissedByThoseWhoDoNot) {
  const store::CapableStore opened = open(options());
  run_some(*opened.store, 1, 30);
  const std::unique_ptr<RedisServer> stranger = join();
  cut_off(*stranger);
  const std::uint64_t there = run_some(*opened.store, 31, 130);
  ASSERT_GT(there, 5U);
  take_over(*stranger);
  EXPECT_TRUE(eventually([&] { return lost() == 2 * there; })) << lost() << " of " << 2 * there;
  EXPECT_TRUE(goes_on(*opened.store)) << said_;
  EXPECT_EQ(lost(), 2 * there);
}

// The home of the beats is moved to another primary after it was moved once already: no call is missed that is there.
TEST_F(RedisTakeovers, AreNotSeenWhereSlotsAreMoved) {
  const store::CapableStore opened = open(options());
  const std::vector<std::size_t> primaries = cluster_.primaries();
  const std::size_t other = primaries.at(primaries.at(0) == victim_ ? 1 : 0);
  for (int round = 0; round < 2; ++round) {
    const auto first = static_cast<std::uint64_t>((round * 40) + 1);
    run_some(*opened.store, first, first + 29);
    for (std::size_t bucket = buckets.count(); bucket-- > 0;) {
      if (cluster_.primary_of(buckets.slot(bucket)) != victim_) continue;
      cluster_.move_slot(buckets.slot(bucket), other);
      break;
    }
    EXPECT_TRUE(eventually([&] { return run_once(*opened.store, key_of(first + 35), 7) != "unavailable"; }));
  }
  EXPECT_EQ(lost(), 0U);
}

}  // namespace
}  // namespace semel::test
