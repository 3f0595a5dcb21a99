// The server has accepted an event, and the answer is lost on the way: what a gateway that asks again is told, and what
// becomes of an event of which it never hears.
#ifdef SEMEL_HAS_POSTGRES

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "inbox/inbox_database.h"
#include "inbox/shared_node.h"
#include "store/capable_store.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/postgres/admin.h"
#include "support/postgres_server.h"
#include "support/relay.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/stores.h>

namespace semel::test {
namespace {

std::size_t count_of(const store::DeliveryTally& tally, DeliveryState state) {
  return tally.by_state.at(static_cast<std::size_t>(state));
}

class LostAnswers : public testing::Test {
 protected:
  // A node whose answers can be lost.
  std::unique_ptr<SharedNode> node_behind_relay() {
    PostgresOptions options;
    options.urls = {database_->url() + "&port=7012"};
    options.time_max = Millis{10'000};
    options.connections = 1;
    Result<store::CapableStore> opened = store::postgres::open_with_keys(*clock_, options, {}, contract_beat);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::make_unique<SharedNode>(*std::move(opened));
  }
  std::unique_ptr<SharedNode> node() { return std::make_unique<SharedNode>(database_->open(*clock_)); }

  bool is_connected(SharedNode& node) {
    return soon([&] { return node.settle({}, 1).error().code == Code::fenced; });
  }
  bool are_events(std::size_t count) {
    return soon([&] { return database_->run("SELECT count(*) FROM semel.inbox_events") == std::to_string(count); });
  }

  // The event is committed, and its node hears only that the store cannot be reached.
  void doubt(SharedNode& node, const std::string& text, bool room) {
    ASSERT_TRUE(is_connected(node));
    relay_.deaf();
    auto waiting = std::async(std::launch::async, [&] { return node.offer(text, room); });
    ASSERT_TRUE(are_events(1));
    relay_.swallow();
    relay_.cut();
    const Result<store::Acceptance> answer = waiting.get();
    relay_.pass();
    ASSERT_FALSE(answer.has_value());
    ASSERT_EQ(answer.error().code, Code::unavailable);
    ASSERT_TRUE(is_connected(node));
  }

  // What has been taken stays with its attempt, however often its node looks.
  void expect_runs_once(SharedNode& node, std::uint32_t attempt) {
    const std::vector<store::TakenDelivery> taken = node.take();
    ASSERT_EQ(taken.size(), 1U);
    const store::TakenDelivery& first = taken.front();
    EXPECT_EQ(first.event.deliveries.front().attempt, attempt);
    for (int look = 0; look < 3; ++look) {
      node.adopt();
      EXPECT_TRUE(node.take().empty()) << "another attempt beside the one that runs";
    }
    EXPECT_EQ(count_of(node.tally(), DeliveryState::running), 1U);
    EXPECT_TRUE(node.settle(first.event.id, attempt).has_value());
    EXPECT_EQ(count_of(node.tally(), DeliveryState::done), 1U);
    EXPECT_EQ(node.tally().unaccounted(), 0);
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::shared_ptr<InboxDatabase> database_ = InboxDatabase::fresh();
  PostgresServer& server_ = PostgresServer::shared();
  Relay relay_{server_.folder(), 7'012, (server_.folder() / ".s.PGSQL.5432").string()};
};

// A doubted event is put back once. The gateway then takes it as any other, and looks every second for what it doubted
// while the attempt is under way.
TEST_F(LostAnswers, WhatWasDoubtedAndThenTakenIsLeftAlone) {
  const auto only = node_behind_relay();
  only->adopt();
  doubt(*only, "evt", true);
  only->adopt();
  EXPECT_EQ(count_of(only->tally(), DeliveryState::waiting), 1U);
  expect_runs_once(*only, 2);
}

// One that waits from the beginning is taken for its first attempt before anybody has looked.
TEST_F(LostAnswers, WhatWasDoubtedAndOnlyWaitedIsLeftAlone) {
  const auto only = node_behind_relay();
  only->adopt();
  doubt(*only, "evt", false);
  expect_runs_once(*only, 1);
}

// The server commits after the gateway has looked for the first time: the event is found by a later look.
TEST_F(LostAnswers, WhatIsCommittedLateIsFound) {
  database_->run(
      "CREATE TABLE public.gate (closed boolean); INSERT INTO public.gate VALUES (true);"
      "CREATE FUNCTION public.wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      "  WHILE EXISTS (SELECT FROM public.gate) LOOP PERFORM pg_sleep(0.01); END LOOP; RETURN NEW; END $$;"
      "CREATE TRIGGER wait_at_gate BEFORE INSERT ON semel.inbox_events FOR EACH ROW"
      "  EXECUTE FUNCTION public.wait_at_gate()");
  const auto only = node_behind_relay();
  only->adopt();
  ASSERT_TRUE(is_connected(*only));
  auto waiting = std::async(std::launch::async, [&] { return only->offer("evt", true); });
  ASSERT_TRUE(soon([&] {
    return database_->run("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") != "0";
  })) << "the server is at it";
  relay_.swallow();
  relay_.cut();
  ASSERT_FALSE(waiting.get().has_value());
  relay_.pass();
  ASSERT_TRUE(is_connected(*only));
  only->adopt();
  EXPECT_EQ(database_->run("SELECT count(*) FROM semel.inbox_events"), "0");
  database_->run("DELETE FROM public.gate");
  ASSERT_TRUE(are_events(1));
  EXPECT_TRUE(only->take().empty()) << "it runs, as far as the server knows";
  only->adopt();
  expect_runs_once(*only, 2);
}

// The call is sent again when its event has filled the inbox: it finds its own event, and begins it.
TEST_F(LostAnswers, AnEventThatFillsTheInboxIsFoundByItsOwnCall) {
  const auto only = node_behind_relay();
  only->adopt();
  only->set_depth_max(1);
  bool heard = false;
  for (std::size_t i = 1; i <= 10 && !heard; ++i) {
    ASSERT_TRUE(is_connected(*only));
    relay_.deaf();
    auto waiting = std::async(std::launch::async, [&] { return only->offer("evt_" + std::to_string(i), true); });
    ASSERT_TRUE(are_events(i));
    relay_.cut();
    const Result<store::Acceptance> answer = waiting.get();
    heard = answer.has_value();
    if (!heard) {  // the connection was too late
      only->set_depth_max(i + 1);
      continue;
    }
    const auto* event = std::get_if<AcceptedEvent>(&*answer);
    ASSERT_NE(event, nullptr) << "it is our own, and not a duplicate";
    EXPECT_EQ(event->deliveries.front().state, DeliveryState::running);
    EXPECT_TRUE(only->may_begin(event->id));
    EXPECT_TRUE(only->settle(event->id, 1).has_value());
  }
  EXPECT_TRUE(heard);
}

// The event waits, and another gateway takes it before the call is sent again: the attempt is that gateway's.
TEST_F(LostAnswers, WhatAnotherHasTakenMeanwhileIsNotBegunAgain) {
  const auto first = node_behind_relay();
  const auto second = node();
  first->adopt();
  second->adopt();
  bool heard = false;
  for (std::size_t i = 1; i <= 10 && !heard; ++i) {
    ASSERT_TRUE(is_connected(*first));
    relay_.deaf();
    auto waiting = std::async(std::launch::async, [&] { return first->offer("evt_" + std::to_string(i), false); });
    ASSERT_TRUE(are_events(i));
    const std::vector<store::TakenDelivery> taken = second->take();
    relay_.cut();
    const Result<store::Acceptance> answer = waiting.get();
    ASSERT_EQ(taken.size(), 1U);
    heard = answer.has_value();
    if (!heard) continue;  // the connection was too late
    const auto* event = std::get_if<AcceptedEvent>(&*answer);
    ASSERT_NE(event, nullptr);
    EXPECT_EQ(event->id, taken.front().event.id);
    EXPECT_NE(event->deliveries.front().state, DeliveryState::running) << "not here";
    EXPECT_FALSE(first->may_begin(event->id));
    EXPECT_TRUE(second->settle(event->id, 1).has_value());
  }
  EXPECT_TRUE(heard);
}

// The answer to a take is lost for good: the auditor finds what runs without its holder's knowledge, after a while.
TEST_F(LostAnswers, WhatWasTakenUnheardIsPutBackByTheAuditor) {
  const auto first = node();
  const auto second = node();
  second->adopt();
  database_->run("CREATE TABLE public.unaware AS SELECT holder FROM semel.inbox_holders");
  first->accept("evt", false);
  ASSERT_EQ(first->take().size(), 1U);
  database_->run(
      "UPDATE semel.inbox_deliveries SET holder = (SELECT holder FROM public.unaware);"
      "UPDATE semel.inbox_taken SET holder = (SELECT holder FROM public.unaware)");
  EXPECT_EQ(count_of(second->tally(), DeliveryState::running), 1U) << "a call may be under way";
  database_->age(Millis{130'000});
  EXPECT_EQ(count_of(second->tally(), DeliveryState::waiting), 1U);
  EXPECT_EQ(second->take().size(), 1U);
}

// A gateway of a version before asks in the same words for what it doubted and for what its auditor found. It doubts
// for ten minutes: what was taken is put back only when it has been running for longer.
TEST_F(LostAnswers, AnOlderGatewayDoesNotPutBackWhatWasTaken) {
  const auto only = node();
  only->accept("fresh", true);
  only->accept("evt", false);
  ASSERT_EQ(only->take().size(), 1U);
  const auto reclaim = [&] {
    database_->run(
        "SELECT semel.reclaim_3(semel.standing_6(), 1000, (SELECT holder FROM semel.inbox_holders),"
        "  (SELECT array_agg(id) FROM semel.inbox_events))");
    return database_->run("SELECT count(*) FROM semel.inbox_deliveries WHERE state = 2 AND taken");
  };
  EXPECT_EQ(reclaim(), "1");
  EXPECT_EQ(database_->run("SELECT count(*) FROM semel.inbox_deliveries WHERE state = 1"), "1")
      << "the other one waits";
  database_->age(Millis{599'000});
  EXPECT_EQ(reclaim(), "1");
  database_->age(Millis{100'000});
  EXPECT_EQ(reclaim(), "0");
}

}  // namespace
}  // namespace semel::test

#endif
