// Several processes on one inbox: each is a store of its own on the same database.
#ifdef SEMEL_HAS_POSTGRES

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/event_id.h"
#include "inbox/inbox_database.h"
#include "inbox/shared_node.h"
#include "store/capable_store.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/postgres/admin.h"
#include "support/postgres_server.h"
#include "support/relay.h"
#include "support/run.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/stores.h>

namespace semel::test {
namespace {

class SharedInbox : public testing::Test {
 protected:
  SharedInbox() : database_(InboxDatabase::of(InboxServer::postgres, false)) { database_->clear(); }

  std::unique_ptr<SharedNode> node() { return std::make_unique<SharedNode>(database_->open(*clock_)); }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::shared_ptr<InboxDatabase> database_;
};

// What waits is taken by whoever has room: each delivery by one of them.
TEST_F(SharedInbox, WhatWaitsIsTakenOnce) {
  const auto first = node();
  const auto second = node();
  constexpr std::size_t count = 200;
  for (std::size_t i = 0; i < count; ++i) first->accept("evt_" + std::to_string(i), false);
  std::vector<std::vector<core::EventId>> taken(2);
  const auto drain = [&](SharedNode& node, std::vector<core::EventId>& into) {
    for (int round = 0; round < 2'000 && taken[0].size() + taken[1].size() < count; ++round) {
      for (const store::TakenDelivery& each : node.take(7)) into.push_back(each.event.id);
    }
  };
  std::thread other([&] { drain(*second, taken[1]); });
  drain(*first, taken[0]);
  other.join();
  std::set<core::EventId> all(taken[0].begin(), taken[0].end());
  all.insert(taken[1].begin(), taken[1].end());
  EXPECT_EQ(taken[0].size() + taken[1].size(), count);
  EXPECT_EQ(all.size(), count);
  EXPECT_EQ(first->tally().unaccounted(), 0);
}

// An event that comes to two of them at once is accepted by one.
TEST_F(SharedInbox, AnEventIsAcceptedOnce) {
  const auto first = node();
  const auto second = node();
  std::atomic<int> accepted{0};
  std::atomic<int> known{0};
  const auto offer = [&](SharedNode& node) {
    for (int i = 0; i < 100; ++i) {
      const Result<store::Acceptance> answer = node.offer("evt_" + std::to_string(i), true);
      if (answer && std::holds_alternative<AcceptedEvent>(*answer)) ++accepted;
      if (answer && std::holds_alternative<store::KnownEvent>(*answer)) ++known;
    }
  };
  std::thread other([&] { offer(*second); });
  offer(*first);
  other.join();
  EXPECT_EQ(accepted, 100);
  EXPECT_EQ(known, 100);
  EXPECT_EQ(first->tally().accepted, 100U);
}

// A process dies: two others find it out at once, and what it ran is tried again once, after a lease, under the next
// number. What the dead one says afterwards does not count.
TEST_F(SharedInbox, WhatADeadNodeRanIsAdoptedOnce) {
  auto dead = node();
  const auto second = node();
  const auto third = node();
  std::vector<AcceptedEvent> events;
  events.reserve(40);
  for (int i = 0; i < 40; ++i) events.push_back(dead->accept("evt_" + std::to_string(i), i % 2 == 0));
  ASSERT_EQ(dead->take().size(), 20U);
  ASSERT_TRUE(dead->settle(events[0].id, 1).has_value());
  second->adopt();
  EXPECT_EQ(second->tally().by_state.at(static_cast<std::size_t>(DeliveryState::running)), 39U) << "it lives";

  database_->age(dead_by_then);
  database_->run(
      "UPDATE semel.inbox_holders SET alive_until = alive_until + 9000000 "
      "WHERE holder NOT IN (SELECT holder FROM semel.inbox_taken)");  // the others have said that they live
  std::thread other([&] { third->adopt(); });
  second->adopt();
  other.join();
  second->adopt();
  EXPECT_TRUE(second->take().empty()) << "a handler may still be at work";
  database_->age(lease);
  std::map<core::EventId, int> tries;
  for (SharedNode* const each : {second.get(), third.get()}) {
    for (const store::TakenDelivery& taken : each->take()) {
      ++tries[taken.event.id];
      EXPECT_EQ(taken.event.deliveries.front().attempt, 2U);
    }
  }
  EXPECT_EQ(tries.size(), 39U);
  for (const auto& [id, count] : tries) EXPECT_EQ(count, 1);
  EXPECT_EQ(dead->settle(events[1].id, 1).error().code, Code::fenced);
  EXPECT_EQ(second->tally().unaccounted(), 0);
}

// Who was taken for dead is served nothing under its old number, begins nothing that it had, and goes on as a new one.
TEST_F(SharedInbox, WhoWasTakenForDeadBeginsNothing) {
  const auto late = node();
  const auto other = node();
  const AcceptedEvent old = late->accept("old", true);
  EXPECT_TRUE(late->may_begin(old.id));
  other->accept("alive", true);
  database_->age(dead_by_then);
  other->adopt();
  const Result<store::Acceptance> refused = late->offer("next", true);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_FALSE(late->may_begin(old.id));
  const AcceptedEvent next = late->accept("next", true);
  EXPECT_EQ(next.deliveries.front().state, DeliveryState::running);
  EXPECT_TRUE(late->may_begin(next.id));
  EXPECT_EQ(late->settle(old.id, 1).error().code, Code::fenced);
}

class ClockAhead : public Clock {
 public:
  ClockAhead(Clock& right, Millis by) : right_(right), by_(by) {}

  [[nodiscard]] Time now() const override { return right_.now() + by_; }
  [[nodiscard]] std::unique_ptr<Alarm> after(Executor executor, Millis delay, std::function<void()> ring) override {
    return right_.after(std::move(executor), delay, std::move(ring));
  }

 private:
  Clock& right_;
  Millis by_;
};

// How old a delivery is does not depend on the clock of the process that takes it: by that it would be given up.
TEST_F(SharedInbox, AWrongClockMakesNothingOld) {
  ClockAhead wrong(*clock_, 1'000 * lease);
  const auto right = node();
  right->accept("old", false);
  database_->age(2 * lease);
  right->accept("new", false);
  SharedNode ahead(database_->open(wrong));
  const std::vector<store::TakenDelivery> taken = ahead.take();
  ASSERT_EQ(taken.size(), 2U);
  std::vector<Millis> ages;
  for (const store::TakenDelivery& each : taken) ages.push_back(wrong.now() - each.event.deliveries.front().since);
  EXPECT_GE(ages[0], 2 * lease);
  EXPECT_LT(ages[0], 3 * lease);
  EXPECT_LT(ages[1], lease);
}

// An entry that is stolen from the queue is noticed, and put back.
TEST_F(SharedInbox, TheAuditorFindsWhatStandsNowhere) {
  const auto only = node();
  only->accept("stolen", false);
  database_->run("DELETE FROM semel.inbox_due");
  EXPECT_TRUE(only->take().empty());
  EXPECT_EQ(only->tally().unaccounted(), 1);
  EXPECT_EQ(only->take().size(), 1U);
  database_->run("DELETE FROM semel.inbox_holders");
  EXPECT_EQ(only->tally().unaccounted(), 2) << "it runs under a holder that nobody looks after";
  database_->age(lease);
}

// The connection is lost after the server has committed and before we hear of it. Either the call is repeated and finds
// its own event, or nothing is acknowledged and the event waits: it is never accepted twice, and never forgotten.
TEST_F(SharedInbox, AnAcceptanceThatWasNotHeardOfIsFound) {
  const PostgresServer& server = PostgresServer::shared();
  Relay relay(server.folder(), 7'011, (server.folder() / ".s.PGSQL.5432").string());
  PostgresOptions options;
  options.urls = {database_->url() + "&port=7011"};
  options.time_max = Millis{10'000};
  options.connections = 1;
  Result<store::CapableStore> opened = store::postgres::open_with_keys(*clock_, options, {}, contract_beat);
  ASSERT_TRUE(opened.has_value()) << opened.error().detail;
  SharedNode node(*std::move(opened));
  node.accept("first", true);
  std::set<core::EventId> running;
  constexpr std::size_t count = 10;
  for (std::size_t i = 1; i <= count; ++i) {
    ASSERT_TRUE(soon([&] { return node.settle({}, 1).error().code == Code::fenced; })) << "there is a connection";
    relay.deaf();
    auto waiting = std::async(std::launch::async, [&] { return node.offer("evt_" + std::to_string(i), true); });
    ASSERT_TRUE(
        soon([&] { return database_->run("SELECT count(*) FROM semel.inbox_events") == std::to_string(i + 1); }));
    relay.cut();
    const Result<store::Acceptance> answer = waiting.get();
    if (!answer) {
      EXPECT_EQ(answer.error().code, Code::unavailable);
      continue;
    }
    const auto* event = std::get_if<AcceptedEvent>(&*answer);
    ASSERT_NE(event, nullptr) << "it is our own, and not a duplicate";
    EXPECT_TRUE(node.may_begin(event->id));
    running.insert(event->id);
  }
  ASSERT_TRUE(soon([&] { return node.settle({}, 1).error().code == Code::fenced; }));
  node.adopt();
  const store::DeliveryTally tally = node.tally();
  EXPECT_EQ(tally.accepted, count + 1);
  EXPECT_EQ(tally.by_state.at(static_cast<std::size_t>(DeliveryState::running)), running.size() + 1);
  EXPECT_EQ(node.take().size(), count - running.size()) << "those that nobody began wait for their turn";
}

// On several databases an event lives where its key does, and is found by its id alone.
TEST_F(SharedInbox, WorksOnShards) {
  const std::vector<std::string> urls{InboxDatabase::fresh()->url(), InboxDatabase::fresh()->url()};
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, urls).has_value());
  PostgresOptions options;
  options.urls = urls;
  options.time_max = Millis{30'000};
  Result<store::CapableStore> opened = store::postgres::open_with_keys(*clock_, options, {}, contract_beat);
  ASSERT_TRUE(opened.has_value()) << opened.error().detail;
  SharedNode sharded(*std::move(opened));
  for (int i = 0; i < 30; ++i) sharded.accept("evt_" + std::to_string(i), false);
  EXPECT_TRUE(std::holds_alternative<store::KnownEvent>(*sharded.offer("evt_3", true)));
  const std::vector<store::TakenDelivery> taken = sharded.take();
  ASSERT_EQ(taken.size(), 30U);
  for (const store::TakenDelivery& each : taken) {
    const Result<std::optional<store::Parcel>> parcel =
        run(sharded.context(), sharded.opened().inbox->load(each.event.id));
    ASSERT_TRUE(parcel.has_value() && parcel->has_value());
    ASSERT_TRUE(sharded.settle(each.event.id, 1).has_value());
  }
  EXPECT_EQ(sharded.tally().by_state.at(static_cast<std::size_t>(DeliveryState::done)), 30U);
  std::set<core::EventId> listed;
  std::string cursor;
  do {
    store::DeliveryFilter filter;
    filter.items_max = 7;
    const Result<store::DeliveryList> page = run(sharded.context(), sharded.opened().inbox_desk->list(filter, cursor));
    ASSERT_TRUE(page.has_value());
    for (const store::TakenDelivery& each : page->items) listed.insert(each.event.id);
    cursor = page->cursor;
  } while (!cursor.empty());
  EXPECT_EQ(listed.size(), 30U);
}

// What operators send again has its share of all databases together.
TEST_F(SharedInbox, ReplaysHaveTheirShareOnShards) {
  const std::vector<std::string> urls{InboxDatabase::fresh()->url(), InboxDatabase::fresh()->url()};
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, urls).has_value());
  PostgresOptions options;
  options.urls = urls;
  options.time_max = Millis{30'000};
  Result<store::CapableStore> opened = store::postgres::open_with_keys(*clock_, options, {}, contract_beat);
  ASSERT_TRUE(opened.has_value()) << opened.error().detail;
  SharedNode sharded(*std::move(opened));
  for (int i = 0; i < 20; ++i) {
    store::DeliveryChange again;
    again.id = sharded.accept("evt_" + std::to_string(i), false).id;
    again.to = "billing";
    again.reason = "a test";
    ASSERT_TRUE(run(sharded.context(), sharded.opened().inbox_desk->change(again)).has_value());
  }
  store::TakeOrder order{.to = "billing", .limit = 100, .replays_max = 3};
  EXPECT_EQ(run(sharded.context(), sharded.opened().inbox->take(std::move(order))).value().deliveries.size(), 3U);
}

}  // namespace
}  // namespace semel::test

#endif
