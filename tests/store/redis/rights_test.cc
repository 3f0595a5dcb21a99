// The rights that docs/redis.md names are enough, and none of them is there for nothing that the store does.

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/settlement.h"
#include "store/desk.h"
#include "store/redis/buckets.h"
#include "store/redis/fixture.h"
#include "support/places.h"
#include "support/redis_cluster.h"

namespace semel::test {
namespace {

// The words of the ACL line in the manual.
std::vector<std::string> rights() {
  std::ifstream file(test::in_tree("docs/redis.md"));
  std::string line;
  std::string found;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line.starts_with("user semel on ")) inside = true;
    if (inside && line == "```") break;
    if (inside) found += " " + line;
  }
  std::istringstream words(found);
  std::vector<std::string> rights{"ACL", "SETUSER"};
  std::string word;
  words >> word;
  while (words >> word) rights.push_back(word);
  return rights;
}

class RedisRights : public RedisTest {};

// Everything that a gateway and its operators do, with exactly these rights.
TEST_F(RedisRights, TheLineOfTheManualIsEnough) {
  RedisServer server;
  const std::vector<std::string> words = rights();
  ASSERT_GT(words.size(), 20U) << "the line is in the manual";
  ASSERT_EQ(server.run_words(words).text, "OK");
  store::redis::RedisOptions options = options_for(server);
  options.url = "redis://semel:PASSWORD@" + server.socket().string();
  prepare(options);
  store::CapableStore opened = open(options);
  Store& store = *opened.store;
  ASSERT_EQ(run_once(store, key_of(1), 1, std::string(100'000, 'x')), "ok");
  ASSERT_EQ(run_once(store, key_of(1), 2), "held");
  const Fence fence = std::get<Granted>(*claim(store, key_of(2), 3)).fence;
  EXPECT_EQ(said(run(context_, store.renew(key_of(2), fence, ample))), "ok");
  std::atomic<int> told = 0;
  opened.endings->watch([&](const Digest&) { ++told; });
  opened.endings->expect(key_of(2));
  std::this_thread::sleep_for(Millis{200});
  EXPECT_EQ(said(run(context_, store.complete(key_of(2), fence, nullptr))), "ok");
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  const Result<store::KeyList> unknown = run(context_, opened.desk->list({}, ""));
  ASSERT_TRUE(unknown) << unknown.error().detail;
  EXPECT_EQ(unknown->items.size(), 1U);
  EXPECT_EQ(run(context_, opened.desk->find(std::string("\2", 1), 10))->size(), 1U);
  EXPECT_EQ(run(context_, opened.reopening->reopen(key_of(2))), true);
  const Fence again = std::get<Granted>(*claim(store, key_of(2), 4)).fence;
  EXPECT_EQ(said(run(context_, store.release(key_of(2), again))), "ok");
  Terms ordered;
  ordered.owner = 5;
  ordered.order = std::make_shared<const Order>(Order{.object = key_of(50), .stamp = "1"});
  EXPECT_EQ(said(run(context_, store.claim(key_of(3), fingerprint_of(1), ordered))), "ok");
  EXPECT_EQ(said(run(context_, store.sweep(10))), "ok");
  EXPECT_EQ(said(run(context_, opened.audit->append("{}"))), "ok");
  EXPECT_EQ(run(context_, opened.audit->read(0, 10))->size(), 1U);
  EXPECT_EQ(store::redis::accept_redis_losses(*clock_, options), "");
  EXPECT_TRUE(store::redis::inspect_redis(*clock_, options));
}

// The same in a cluster, where slots move.
TEST_F(RedisRights, AreEnoughInACluster) {
  const RedisCluster& cluster = RedisCluster::shared();
  cluster.run_everywhere({"FLUSHALL"});
  for (const auto& server : cluster.servers()) ASSERT_EQ(server->run_words(rights()).text, "OK");
  store::redis::RedisOptions options = options_for(*cluster.servers().front());
  options.url = "redis+cluster://semel:PASSWORD@" + cluster.url().substr(std::string("redis+cluster://").size());
  options.time_max = Millis{10'000};
  prepare(options);
  {
    const store::CapableStore opened = open(options);
    for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok");
    const std::uint16_t slot = store::redis::Buckets(core::RedisUrl::Setup::cluster).slot(0);
    const std::vector<std::size_t> primaries = cluster.primaries();
    cluster.move_slot(slot, primaries.at(primaries.at(0) == cluster.primary_of(slot) ? 1 : 0));
    for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), 100 + i), "held");
    EXPECT_TRUE(run(context_, opened.desk->list({}, "")));
    EXPECT_EQ(run(context_, opened.desk->find(std::string("\2", 1), 10))->size(), 1U);
  }
  for (const auto& server : cluster.servers()) server->run({"ACL", "DELUSER", "semel"});
}

}  // namespace
}  // namespace semel::test
