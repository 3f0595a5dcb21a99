// Which changes of a configuration a running gateway cannot take over.
#include "config/restart.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/config.h"
#include "core/redis_url.h"
#include "reading/secret.h"
#include <semel/clock.h>

namespace semel::config {
namespace {

using Names = std::vector<std::string>;

Names changed_by(const std::function<void(Config&)>& change) {
  Config next;
  change(next);
  return changed_for_restart(Config{}, next);
}

// Goal: each is named as it is written in the file, all of them at once, and nothing else is.
TEST(Restart, NamesWhatIsReadAtTheStartOnly) {
  EXPECT_EQ(changed_by([](Config&) {}), Names{});
  EXPECT_EQ(changed_by([](Config& config) { config.server.listen.port = 1; }), Names{"server.listen"});
  EXPECT_EQ(changed_by([](Config& config) { config.admin.listen.reset(); }), Names{"admin.listen"});
  EXPECT_EQ(changed_by([](Config& config) { config.store.encryption_keys.emplace_back("k"); }),
            Names{"store.encryption_keys"});
  EXPECT_EQ(changed_by([](Config& config) {
              config.limits.connections = 5;
              config.server.threads = 3;
            }),
            (Names{"server.threads", "limits.connections"}));
  EXPECT_EQ(changed_by([](Config& config) {
              config.store.replicas = 1;
              config.store.fsync = core::RedisFsync::everysec;
              config.store.on_loss = core::RedisOnLoss::stop;
            }),
            (Names{"store.replicas", "store.fsync", "store.on_loss"}));
}

// Goal: what a reload takes over is not named, or nobody would believe the rest.
TEST(Restart, SaysNothingOfWhatAReloadTakesOver) {
  const Names names = changed_by([](Config& config) {
    config.admin.token = reading::Secret("new");
    config.admin.ready_needs = ReadyNeeds::store;
    config.limits.body_bytes = 5;
    config.limits.drain_timeout = Millis{1};
    config.limits.drain_notice = Millis{1};
    config.log.requests = false;
    config.server.policy_document = true;
    config.routes.emplace_back();
  });
  EXPECT_EQ(names, Names{});
}

// Goal: an option that only moved within the file has not changed.
TEST(Restart, LooksAtWhatOptionsSayAndNotAtWhereTheyStand) {
  Config running;
  running.audits.emplace_back();
  running.resolvers.emplace_back();
  Config next = running;
  next.audits.front().query_at.at = {.line = 7, .column = 9};
  next.resolvers.front().query_at.at = {.line = 8, .column = 9};
  EXPECT_EQ(changed_for_restart(running, next), Names{});
  next.audits.front().query = "SELECT 1";
  next.resolvers.front().query = "SELECT 1";
  EXPECT_EQ(changed_for_restart(running, next), (Names{"resolver", "audit"}));
}

// Goal: only a store on a server was told its time limit when it was opened.
TEST(Restart, CountsTheTimeOfAStoreOnAServer) {
  Config running;
  Config next;
  next.limits.store_timeout = Millis{1};
  EXPECT_EQ(changed_for_restart(running, next), Names{});
  running.store.kind = next.store.kind = StoreKind::postgres;
  EXPECT_EQ(changed_for_restart(running, next), Names{"limits.store_timeout"});
}

}  // namespace
}  // namespace semel::config
