// Bulk work with several processes on one inbox, and on several databases.
#ifdef SEMEL_HAS_POSTGRES

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/event_id.h"
#include "inbox/inbox_database.h"
#include "inbox/shared_node.h"
#include "store/capable_store.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include "store/postgres/admin.h"
#include "support/run.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/stores.h>

namespace semel::test {
namespace {

using store::InboxJob;
using store::JobProgress;
using store::JobState;

class SharedJobs : public testing::Test {
 protected:
  SharedJobs() : database_(InboxDatabase::of(InboxServer::postgres, false)) { database_->clear(); }

  std::unique_ptr<SharedNode> node() { return std::make_unique<SharedNode>(database_->open(*clock_)); }

  static void make_dead(SharedNode& node, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const AcceptedEvent event = node.accept("evt_" + std::to_string(i), true);
      if (!node.settle(event.id, 1, DeliveryState::dead)) throw std::runtime_error("it does not die");
    }
  }
  InboxJob start(SharedNode& node) {
    InboxJob job;
    job.scope.filter.state = DeliveryState::dead;
    job.scope.filter.until = clock_->now() + Millis{2};
    job.token = "token " + std::to_string(++tokens_);
    const Result<InboxJob> planned = run(node.context(), node.opened().inbox_jobs->plan(std::move(job)));
    if (!planned) throw std::runtime_error(planned.error().detail);
    store::JobStart start{.token = planned->token, .count = 0, .reason = "repaired", .who = "ann"};
    Result<InboxJob> started = run(node.context(), node.opened().inbox_jobs->start(std::move(start)));
    if (!started) throw std::runtime_error(started.error().detail);
    return *std::move(started);
  }
  static JobProgress advance(SharedNode& node, std::uint64_t number, std::size_t limit) {
    Result<JobProgress> progress = run(
        node.context(), node.opened().inbox_jobs->advance({.number = number, .limit = limit, .retain_ended = lease}));
    if (!progress) throw std::runtime_error(progress.error().detail);
    return *std::move(progress);
  }
  static InboxJob seen(SharedNode& node, std::uint64_t number) {
    const Result<std::vector<InboxJob>> all = run(node.context(), node.opened().inbox_jobs->jobs());
    if (!all) throw std::runtime_error(all.error().detail);
    for (const InboxJob& each : *all) {
      if (each.number == number) return each;
    }
    throw std::runtime_error("there is no such job");
  }
  void say_that_all_live() { database_->run("UPDATE semel.inbox_holders SET floor = decode(repeat('ff', 16), 'hex')"); }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::shared_ptr<InboxDatabase> database_;
  int tokens_ = 0;
};

// Goal: while the one that moves a job on lives, no other does; when it is dead, another goes on where it was, and each
// delivery is taken once.
TEST_F(SharedJobs, OneMovesAJobOnAndAnotherTakesItOver) {
  auto first = node();
  const auto second = node();
  make_dead(*first, 9);
  second->accept("it lives", true);
  say_that_all_live();
  const InboxJob job = start(*second);
  EXPECT_EQ(advance(*first, job.number, 3).job.taken, 3U);
  const JobProgress other = advance(*second, job.number, 3);
  EXPECT_TRUE(other.elsewhere);
  EXPECT_EQ(other.job.taken, 3U);
  first.reset();
  database_->age(dead_by_then);
  const auto third = node();
  third->accept("it lives, too", true);
  std::set<core::EventId> taken;
  ASSERT_TRUE(soon([&] {
    third->adopt();
    const JobProgress progress = advance(*third, job.number, 2);
    for (const store::TakenDelivery& each : third->take()) EXPECT_TRUE(taken.insert(each.event.id).second);
    return progress.job.state == JobState::done;
  }));
  EXPECT_EQ(taken.size(), 9U);
  EXPECT_EQ(seen(*second, job.number).taken, 9U);
  EXPECT_EQ(third->tally().unaccounted(), 0);
}

// Goal: two that believe at the same time that the runner is dead do not both take the same.
TEST_F(SharedJobs, TwoStepsAtOnceTakeNothingTwice) {
  const auto first = node();
  const auto second = node();
  constexpr std::size_t count = 60;
  make_dead(*first, count);
  second->accept("it lives", true);
  say_that_all_live();
  const InboxJob job = start(*first);
  const auto work = [&](SharedNode& node) {
    for (int round = 0; round < 500; ++round) {
      database_->run("UPDATE semel.inbox_jobs SET runner = NULL");
      if (advance(node, job.number, 3).job.state == JobState::done) return;
    }
  };
  std::thread other([&] { work(*second); });
  work(*first);
  other.join();
  EXPECT_EQ(seen(*first, job.number).taken, count);
  EXPECT_EQ(first->take().size(), count);
  EXPECT_EQ(first->tally().unaccounted(), 0);
}

// Goal: an event that another process is still accepting is not passed: the job waits in front of it.
TEST_F(SharedJobs, WaitsForEventsThatAreBeingAccepted) {
  const auto first = node();
  const auto second = node();
  second->accept("it lives", true);  // and its floor is from before the next events
  std::this_thread::sleep_for(Millis{5});
  make_dead(*first, 3);
  const InboxJob job = start(*first);
  std::this_thread::sleep_for(Millis{5});
  const JobProgress waits = advance(*first, job.number, 100);
  EXPECT_EQ(waits.job.taken, 0U);
  EXPECT_EQ(waits.job.state, JobState::running);
  say_that_all_live();
  EXPECT_TRUE(soon([&] { return advance(*first, job.number, 100).job.state == JobState::done; }));
  EXPECT_EQ(seen(*first, job.number).taken, 3U);
}

// Goal: on several databases a job has one number, one count and one end, and can be cancelled as a whole.
TEST_F(SharedJobs, WorkOnShards) {
  const std::vector<std::string> urls{InboxDatabase::fresh()->url(), InboxDatabase::fresh()->url()};
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, urls).has_value());
  PostgresOptions options;
  options.urls = urls;
  options.time_max = Millis{30'000};
  Result<store::CapableStore> opened = store::postgres::open_with_keys(*clock_, options, {}, contract_beat);
  ASSERT_TRUE(opened.has_value()) << opened.error().detail;
  SharedNode sharded(*std::move(opened));
  make_dead(sharded, 30);
  const InboxJob cut = start(sharded);
  EXPECT_EQ(cut.number, 1U);
  const std::uint64_t some = advance(sharded, cut.number, 4).job.taken;
  EXPECT_GE(some, 4U);
  EXPECT_LT(some, 30U);
  ASSERT_TRUE(run(sharded.context(), sharded.opened().inbox_jobs->cancel(cut.number)).has_value());
  EXPECT_EQ(advance(sharded, cut.number, 100).job.taken, some);
  EXPECT_EQ(seen(sharded, cut.number).state, JobState::cancelled);
  EXPECT_EQ(sharded.take().size(), some);

  const InboxJob job = start(sharded);
  EXPECT_EQ(job.number, 2U);
  ASSERT_TRUE(soon([&] { return advance(sharded, job.number, 4).job.state == JobState::done; }));
  EXPECT_EQ(seen(sharded, job.number).taken, 30U - some);
  const std::vector<store::TakenDelivery> taken = sharded.take();
  EXPECT_EQ(taken.size(), 30U - some);
  for (const store::TakenDelivery& each : taken) {
    EXPECT_EQ(each.event.deliveries[each.at].job, job.number);
    ASSERT_TRUE(sharded.settle(each.event.id, 2).has_value());
  }
  EXPECT_EQ(seen(sharded, job.number).done, 30U - some);
}

}  // namespace
}  // namespace semel::test

#endif
