// A mover between a real database and an inbox: what it moves, what it gives back, what it calls dead.
#include "outbox/mover.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "config/config.h"
#include "gateway/dispatcher.h"
#include "gateway/plan.h"
#include "inbox/destination.h"
#include "outbox/migrate.h"
#include "reading/secret.h"
#include "store/capable_store.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/memory.h"
#include "support/postgres_server.h"
#include "support/relay.h"
#include "support/run.h"
#include "telemetry/inbox_metrics.h"
#include <semel/clock.h>

namespace semel::outbox {
namespace {

using store::DeliveryState;

// The destination is paused, so what was moved waits in the inbox.
class MoverTest : public testing::Test {
 protected:
  MoverTest() : url_(test::PostgresServer::shared().fresh_database()) {
    if (const auto migrated = migrate_outbox(*clock_, url_, {}); !migrated) {
      throw std::runtime_error(migrated.error().detail);
    }
    database_ = url_.substr(url_.find("///") + 3, url_.find('?') - url_.find("///") - 3);
    outbox_.name = "shop";
    outbox_.database = reading::Secret(url_);
    outbox_.deliver = {"mailer"};
    auto config = std::make_shared<config::Config>();
    config->upstreams.emplace_back();
    inbox::Destination mailer;
    mailer.name = "mailer";
    config->destinations.push_back(mailer);
    const auto plan = std::make_shared<gateway::Plan>();
    plan->config = config;
    dispatcher_.add_worker(context_.get_executor(), [plan] { return plan; });
    dispatcher_.configure(config);
    dispatcher_.pause("mailer", std::nullopt, "a test");
    thread_ = std::thread([this] { context_.run(); });
  }
  ~MoverTest() override {
    guard_.reset();
    thread_.join();
  }

  void run(const std::string& sql) const { test::PostgresServer::shared().run(sql, database_); }
  [[nodiscard]] std::string value(const std::string& sql) const {
    return test::PostgresServer::shared().run(sql, database_);
  }
  static std::string send(const std::string& key, const std::string& more = {}, const std::string& to = "mailer") {
    return "SELECT semel.send('" + to + "', '" + key + "', '{}'" + more + ");";
  }
  std::vector<store::TakenDelivery> list(DeliveryState state) {
    store::DeliveryFilter filter;
    filter.state = state;
    filter.items_max = 5'000;
    return test::run(opened_.inbox_desk->list(filter, {})).value().items;
  }
  static bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 3'000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  [[nodiscard]] std::string listeners() const {
    return value(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN semel_outbox'");
  }
  [[nodiscard]] std::string left() const {
    return value(
        "SELECT (SELECT count(*) FROM semel.outbox_0) + (SELECT count(*) FROM semel.outbox_1) + "
        "(SELECT count(*) FROM semel.outbox_2)");
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::string url_;
  std::string database_;
  struct Said {
    std::mutex mutex;
    std::vector<std::string> lines;
  };
  Said said_;
  std::function<void(const std::string&)> say_ = [this](const std::string& line) {
    const std::scoped_lock lock(said_.mutex);
    said_.lines.push_back(line);
  };
  std::vector<std::string> said() {
    const std::scoped_lock lock(said_.mutex);
    return said_.lines;
  }
  config::OutboxConfig outbox_;
  store::CapableStore opened_ = store::make_capable_memory_store(*clock_);
  telemetry::InboxMetrics metrics_;
  gateway::Dispatcher dispatcher_{*opened_.inbox, *opened_.inbox_desk, *clock_, metrics_, 7};
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{context_.get_executor()};
  std::thread thread_;
};

// Several batches, of which some rows have an order and most have none.
TEST_F(MoverTest, MovesWhatWasCommitted) {
  run("SELECT count(semel.send('mailer', 'k' || i, '{}', object => CASE WHEN i % 4 = 0 THEN 'o' || i % 3 END)) "
      "FROM generate_series(1, 1300) i");
  Mover mover(*clock_, dispatcher_, outbox_, 11, say_);
  mover.start();
  ASSERT_TRUE(eventually([&] { return mover.metrics()->moved == 1'300; }));
  EXPECT_EQ(left(), "0");
  const std::vector<store::TakenDelivery> waiting = list(DeliveryState::waiting);
  EXPECT_EQ(waiting.size(), 1'300U);
  EXPECT_EQ(waiting.front().event.source, "outbox:shop");
  // Those of an object stand in their line in the order of their numbers.
  std::map<std::string, std::string> stamps;
  for (const store::TakenDelivery& each : waiting) {
    if (each.event.line.kind != store::Line::Kind::fifo) continue;
    std::string& stamp = stamps[std::string(each.event.line.object.begin(), each.event.line.object.end())];
    EXPECT_LT(stamp, each.event.line.stamp);
    stamp = each.event.line.stamp;
  }
  EXPECT_EQ(stamps.size(), 3U);
  EXPECT_EQ(mover.metrics()->view().standing, telemetry::OutboxStanding::moving);
}

// The same again is once; other content and unknown destinations are dead, and none of it holds the others up.
TEST_F(MoverTest, TellsWhatIsKnownFromWhatIsDead) {
  run(send("a") + send("a") + send("a", ", headers => '{\"X-A\": \"b\"}'") + send("b", "", "nowhere") + send("c"));
  Mover mover(*clock_, dispatcher_, outbox_, 11, say_);
  mover.start();
  ASSERT_TRUE(eventually([&] { return mover.metrics()->moved == 5; }));
  EXPECT_EQ(list(DeliveryState::waiting).size(), 2U);
  EXPECT_EQ(mover.metrics()->repeated, 1U);
  EXPECT_EQ(mover.metrics()->key_reused, 1U);
  EXPECT_EQ(mover.metrics()->undeliverable, 1U);
  std::set<std::string> reasons;
  for (const store::TakenDelivery& each : list(DeliveryState::dead)) {
    reasons.insert(each.event.deliveries.front().to + ": " + each.event.deliveries.front().why);
  }
  EXPECT_EQ(reasons,
            (std::set<std::string>{"mailer: key-reused", "nowhere: nowhere is not in deliver of [[outbox]] shop"}));
}

// A row whose headers no attempt could send is dead at once, with a reason that says what to do, and holds nobody up:
// also one that semel.send would not take any more.
TEST_F(MoverTest, CallsHeadersThatCannotBeSentDead) {
  const auto put = [&](const std::string& key, const std::string& headers) {
    run("INSERT INTO semel.outbox_0 (sent_at, raw, destination, key, object, headers, body) VALUES "
        "(now(), false, 'mailer', '" +
        key + "', 'o', " + headers + ", '{}')");
  };
  put("large", "jsonb_build_object('X-A', repeat('a', 3000000))");
  put("many", "(SELECT jsonb_object_agg('X-' || i, '') FROM generate_series(1, 5000) i)");
  put("named", R"('{"X A": ""}')");
  put("twice", R"('{"X-A": "1", "x-a": "2"}')");
  run(send("fine", ", object => 'o'"));
  Mover mover(*clock_, dispatcher_, outbox_, 11, say_);
  mover.start();
  ASSERT_TRUE(eventually([&] { return mover.metrics()->moved == 5; }));
  EXPECT_EQ(mover.metrics()->undeliverable, 4U);
  EXPECT_EQ(list(DeliveryState::waiting).size(), 1U);
  std::set<std::string> reasons;
  for (const store::TakenDelivery& each : list(DeliveryState::dead)) reasons.insert(each.event.deliveries.front().why);
  const std::string remedy = ": send it in the body, or raise the limit and replay it";
  EXPECT_EQ(reasons,
            (std::set<std::string>{"a header cannot have the name \"X A\": send it under one of letters, digits and -",
                                   "it has 5001 headers, over limits.header_fields (100)" + remedy,
                                   "the header X-A is over limits.header_line_bytes (8KiB)" + remedy,
                                   "the header x-a is there in two spellings: send it once"}));
}

// What has no room stays where it is, and comes when there is some; nothing is moved twice by that.
TEST_F(MoverTest, GivesBackWhatHasNoRoom) {
  outbox_.depth_max = 3;
  for (const char* key : {"a", "b", "c", "d", "e"}) run(send(key));
  Mover mover(*clock_, dispatcher_, outbox_, 11, say_);
  mover.start();
  ASSERT_TRUE(eventually([&] { return mover.metrics()->view().trouble.contains("depth_max"); }));
  EXPECT_EQ(left(), "5");
  EXPECT_EQ(list(DeliveryState::waiting).size(), 3U);
  for (const store::TakenDelivery& each : list(DeliveryState::waiting)) {
    store::DeliveryChange change;
    change.id = each.event.id;
    change.to = "mailer";
    change.what = store::DeliveryChange::What::discard;
    ASSERT_TRUE(test::run(opened_.inbox_desk->change(change)).has_value());
  }
  ASSERT_TRUE(eventually([&] { return mover.metrics()->moved == 5; }));
  EXPECT_EQ(list(DeliveryState::waiting).size(), 2U);
  EXPECT_EQ(left(), "0");
}

// A doorbell is a hint: a server that never answers its connection does not hold the mover up. And many rings are few
// looks.
TEST_F(MoverTest, GoesOnWithoutItsDoorbell) {
  const test::PostgresServer& server = test::PostgresServer::shared();
  test::Relay relay(server.folder(), 7'024, (server.folder() / ".s.PGSQL.5432").string());
  outbox_.database = reading::Secret(url_ + "&port=7024");
  outbox_.doorbell = true;
  Mover mover(*clock_, dispatcher_, outbox_, 11, say_);
  mover.start();
  ASSERT_TRUE(eventually([&] { return listeners() == "1"; }));
  relay.swallow();
  run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
      "AND query = 'LISTEN semel_outbox'");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // it begins to listen anew, and hears nothing
  for (int i = 0; i < 5; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    run(send("k" + std::to_string(i)));
    ASSERT_TRUE(eventually([&] { return mover.metrics()->moved == static_cast<std::uint64_t>(i) + 1; }));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1));
  }
  const auto begun = std::chrono::steady_clock::now();
  mover.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(4));
}

// However long it would have waited, and also when it is rung while it moves.
TEST_F(MoverTest, HearsItsDoorbell) {
  outbox_.doorbell = true;
  outbox_.poll_busy = outbox_.poll_idle = Millis{60'000};
  Mover mover(*clock_, dispatcher_, outbox_, 11, say_);
  mover.start();
  ASSERT_TRUE(eventually([&] { return listeners() == "1"; }));
  for (int i = 0; i < 20; ++i) {
    run(send("k" + std::to_string(i)));
    run("NOTIFY semel_outbox");
    if (i % 4 == 3) {
      ASSERT_TRUE(eventually([&] { return mover.metrics()->moved == static_cast<std::uint64_t>(i) + 1; }));
    }
  }
  const auto begun = std::chrono::steady_clock::now();
  mover.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2)) << "it does not wait for the next look";
}

// A mover that stops lets another begin; and one whose database is not prepared says what to do, and goes on later.
TEST_F(MoverTest, HandsOverAndWaitsForItsDatabase) {
  auto first = std::make_unique<Mover>(*clock_, dispatcher_, outbox_, 11, say_);
  first->start();
  ASSERT_TRUE(eventually([&] { return first->metrics()->view().standing == telemetry::OutboxStanding::moving; }));
  Mover second(*clock_, dispatcher_, outbox_, 1'000, say_);
  second.start();
  ASSERT_TRUE(eventually([&] { return second.metrics()->view().standing == telemetry::OutboxStanding::standby; }));
  first->stop();
  run(send("a"));
  ASSERT_TRUE(eventually([&] { return second.metrics()->moved == 1; }));
  config::OutboxConfig bare = outbox_;
  bare.database = reading::Secret(test::PostgresServer::shared().fresh_database());
  Mover third(*clock_, dispatcher_, bare, 12, say_);
  third.start();
  ASSERT_TRUE(eventually([&] { return third.metrics()->view().trouble.contains("semel migrate --outbox"); }));
  ASSERT_TRUE(migrate_outbox(*clock_, bare.database.reveal(), {}).has_value());
  ASSERT_TRUE(eventually([&] { return third.metrics()->view().standing == telemetry::OutboxStanding::moving; }));
}

// The log has one line when it begins to fail, however often it tries, and one when it is well again.
TEST_F(MoverTest, SaysOnceThatItFailsAndOnceThatItIsWellAgain) {
  Mover mover(*clock_, dispatcher_, outbox_, 11, say_);
  mover.start();
  ASSERT_TRUE(eventually([&] { return mover.metrics()->view().standing == telemetry::OutboxStanding::moving; }));
  EXPECT_EQ(said(), std::vector<std::string>{});
  run("ALTER FUNCTION semel.outbox_look_v1(bigint, bigint) RENAME TO away");
  ASSERT_TRUE(eventually([&] { return mover.metrics()->failures >= 5; }));
  ASSERT_EQ(said().size(), 1U);
  const std::string first = said().front();
  EXPECT_TRUE(first.starts_with("outbox shop: rows cannot be moved, and stay where they are: ")) << first;
  EXPECT_TRUE(first.contains("outbox_look_v1(")) << first;
  run("ALTER FUNCTION semel.away(bigint, bigint) RENAME TO outbox_look_v1");
  ASSERT_TRUE(eventually([&] { return said().size() == 2; }));
  EXPECT_TRUE(said().back().starts_with("outbox shop: rows are moved again, after ")) << said().back();
  mover.stop();
  EXPECT_EQ(said().size(), 2U);
}

}  // namespace
}  // namespace semel::outbox
