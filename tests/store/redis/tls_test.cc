// rediss://: a server without the right certificate is not talked to, nor a client without one.

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "store/redis/fixture.h"
#include "support/redis_cluster.h"
#include "support/redis_set.h"

namespace semel::test {
namespace {

class RedisOverTls : public RedisTest {
 protected:
  store::redis::RedisOptions options_at(std::string url) {
    store::redis::RedisOptions options = options_for(set_.server());
    options.url = std::move(url);
    return options;
  }
  std::string refusal_at(std::string url) { return refusal(options_at(std::move(url))); }

  RedisBehindTls& set_ = RedisBehindTls::shared();
};

// By name and by address; also an answer of many records, more than the socket is told of at once.
TEST_F(RedisOverTls, CarriesWhatAStoreDoes) {
  set_.server().run({"FLUSHALL"});
  prepare(options_at(set_.url()));
  std::uint64_t first = 0;
  for (const std::string host : {"localhost", "127.0.0.1"}) {
    const store::CapableStore opened = open(options_at(set_.url(host)));
    first += 100;
    std::string large;
    for (std::size_t i = 0; i < 600'000; ++i) large += static_cast<char>(i * i % 251 * (i % 7));
    ASSERT_EQ(run_once(*opened.store, key_of(first), first, large), "ok");
    const Result<Claim> again = claim(*opened.store, key_of(first), first + 1);
    ASSERT_TRUE(again) << said(again);
    EXPECT_EQ(std::get<Held>(*again).record.response->body, large);
    for (std::uint64_t i = 2; i < 30; ++i) ASSERT_EQ(run_once(*opened.store, key_of(first + i), i), "ok");
  }
}

// An authority that nobody trusts, no certificate of ours, a file that is not there, and a
// port that speaks no TLS. Each says why.
TEST_F(RedisOverTls, RefusesWhatItCannotTrust) {
  const std::string ours = "&cert=" + set_.file("client.pem") + "&key=" + set_.file("client.key");
  const auto refused = [&](const std::string& url, std::string_view words) {
    const std::string why = refusal_at(url);
    EXPECT_NE(why.find(words), std::string::npos) << url << ": " << why;
  };
  refused(set_.url_with("localhost", "?" + ours.substr(1)), "its certificate is refused");
  EXPECT_NE(refusal_at(set_.url_with("localhost", "?ca=" + set_.file("ca.pem"))), "") << "it asks for a certificate";
  refused(set_.url_with("localhost", "?ca=" + set_.file("nothing.pem") + ours), "nothing.pem");
  RedisServer plain({"port " + std::to_string(free_port()), "bind 127.0.0.1"});
  const std::string port = plain.run({"CONFIG", "GET", "port"}).items.at(1).text;
  refused("rediss://127.0.0.1:" + port + "?ca=" + set_.file("ca.pem"), "cannot be reached");
}

// A certificate that is not for the host of the address.
TEST_F(RedisOverTls, ChecksTheNameOfTheServer) {
  const std::string port = std::to_string(free_port());
  const RedisServer server({"tls-port " + port, "bind 127.0.0.2", "tls-cert-file " + set_.file("server.pem"),
                            "tls-key-file " + set_.file("server.key"), "tls-ca-cert-file " + set_.file("ca.pem"),
                            "tls-auth-clients no"});
  const std::string why = refusal_at("rediss://127.0.0.2:" + port + "?ca=" + set_.file("ca.pem"));
  EXPECT_NE(why.find("its certificate is refused"), std::string::npos) << why;
}

// Sentinels, and the servers that they name, over TLS.
TEST_F(RedisOverTls, LeadsFromSentinelsToThePrimary) {
  RedisWithSentinel set({}, &set_);
  const store::redis::RedisOptions options = options_at(set.url());
  prepare(options);
  const store::CapableStore opened = open(options);
  for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok");
  EXPECT_EQ(run_once(*opened.store, key_of(1), 100), "held");
  EXPECT_GT(set.primary().run({"DBSIZE"}).number, 20);
  const std::string plain = "redis" + set.url().substr(6, set.url().find('?') - 6);
  EXPECT_NE(refusal_at(plain), "") << "a Sentinel that takes TLS only";
}

// Every member of a cluster over TLS.
TEST_F(RedisOverTls, LeadsToEveryMemberOfACluster) {
  const RedisCluster cluster(&set_);
  const store::redis::RedisOptions options = options_at(cluster.url());
  prepare(options);
  const store::CapableStore opened = open(options);
  for (std::uint64_t i = 1; i <= 60; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok") << i;
  for (std::uint64_t i = 1; i <= 60; ++i) EXPECT_EQ(run_once(*opened.store, key_of(i), 100 + i), "held") << i;
}

}  // namespace
}  // namespace semel::test
