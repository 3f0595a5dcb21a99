// Bulk work on an inbox, against every store that has it: what a job is about, how far it is, and that no delivery is
// taken twice.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/event_id.h"
#include "inbox/contract.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include "support/run.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::test {
namespace {

using store::InboxJob;
using store::JobAction;
using store::JobScope;
using store::JobState;

const InboxBackend in_memory{"memory", false, false};

std::vector<InboxBackend> those_that_keep() {
  std::vector<InboxBackend> found{{"embedded", true, false}, {"embedded_encrypted", true, true}};
#ifdef SEMEL_HAS_POSTGRES
  found.push_back({"postgres", true, false, InboxServer::postgres});
  found.push_back({"postgres_pgbouncer", true, false, InboxServer::pgbouncer});
  found.push_back({"postgres_encrypted", true, true, InboxServer::postgres});
#endif
  return found;
}

std::vector<InboxBackend> all_backends() {
  std::vector<InboxBackend> found = those_that_keep();
  found.push_back(in_memory);
  found.push_back({"memory_encrypted", false, true});
  return found;
}

class JobContract : public InboxContract {
 protected:
  // An event that has died at its first attempt.
  AcceptedEvent dead(AcceptOrder order, const std::string& to = "billing") {
    AcceptedEvent event = accept(std::move(order));
    if (!settle(event.id, 1, DeliveryState::dead, Millis{0}, to)) throw std::runtime_error("it does not die");
    return event;
  }
  AcceptedEvent dead(const std::string& text) { return dead(order(text, true)); }

  static JobScope dead_ones() {
    JobScope scope;
    scope.filter.state = DeliveryState::dead;
    return scope;
  }
  // Also by the clock of this machine, which ids of events are made by.
  void pass(Millis by) {
    clock_.advance(by);
    if (GetParam().shared()) std::this_thread::sleep_for(by);
  }
  InboxJob plan(JobScope scope, std::uint64_t count = 1) {
    InboxJob job;
    if (!scope.filter.until) scope.filter.until = clock_.now() + Millis{2};  // an id may be a millisecond ahead
    job.scope = std::move(scope);
    job.count = count;
    job.token = "token " + std::to_string(++tokens_);
    Result<InboxJob> planned = run(context_, opened_.inbox_jobs->plan(std::move(job)));
    if (!planned) throw std::runtime_error(planned.error().detail);
    return *std::move(planned);
  }
  Result<InboxJob> start(const InboxJob& plan) {
    return run(context_, opened_.inbox_jobs->start(
                             {.token = plan.token, .count = plan.count, .reason = "repaired", .who = "ann"}));
  }
  InboxJob started(JobScope scope) {
    Result<InboxJob> job = start(plan(std::move(scope)));
    if (!job) throw std::runtime_error(job.error().detail);
    return *std::move(job);
  }
  store::JobProgress advance(std::uint64_t number, std::size_t limit = 1'000) {
    Result<store::JobProgress> progress =
        run(context_, opened_.inbox_jobs->advance({.number = number, .limit = limit, .retain_ended = hour}));
    if (!progress) throw std::runtime_error(progress.error().detail);
    return *std::move(progress);
  }
  InboxJob finish(std::uint64_t number, std::size_t limit = 2) {
    for (int round = 0; round < 100; ++round) {
      store::JobProgress progress = advance(number, limit);
      if (progress.job.state != JobState::running) return std::move(progress.job);
    }
    throw std::runtime_error("the job does not end");
  }
  InboxJob job(std::uint64_t number) {
    const Result<std::vector<InboxJob>> all = run(context_, opened_.inbox_jobs->jobs());
    if (!all) throw std::runtime_error(all.error().detail);
    for (const InboxJob& each : *all) {
      if (each.number == number) return each;
    }
    throw std::runtime_error("there is no such job");
  }
  std::vector<std::string> texts_of(const InboxJob& job) {
    std::vector<std::string> texts;
    for (const store::TakenDelivery& each : take()) {
      if (each.event.deliveries[each.at].job != job.number) throw std::runtime_error("it has another number");
      texts.push_back(text_of(each.event.id));
    }
    return texts;
  }

 private:
  int tokens_ = 0;
};

class KeptJobContract : public JobContract {};
class QuickJobContract : public JobContract {};  // of thousands of steps, which a disk would sync one by one

INSTANTIATE_TEST_SUITE_P(Stores, JobContract, testing::ValuesIn(all_backends()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Stores, QuickJobContract, testing::Values(in_memory),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Stores, KeptJobContract, testing::ValuesIn(those_that_keep()),
                         [](const auto& info) { return info.param.name; });

// Goal: each dead delivery is sent again once, under the next number of its attempts, and carries the job's.
TEST_P(JobContract, ReplaysEachOnce) {
  std::vector<std::string> expected;
  expected.reserve(7);
  for (int i = 0; i < 7; ++i) expected.push_back(text_of(dead("evt_" + std::to_string(i)).id));
  const AcceptedEvent done = accept("evt_done", true);
  ASSERT_TRUE(settle(done.id, 1, DeliveryState::done).has_value());
  const InboxJob job = finish(started(dead_ones()).number);
  EXPECT_EQ(job.state, JobState::done);
  EXPECT_EQ(job.taken, 7U);
  EXPECT_EQ(open_of(job), 7U);
  EXPECT_EQ(texts_of(job), expected);
  EXPECT_EQ(see(done.id).attempt, 1U);
  EXPECT_EQ(count(DeliveryState::running), 7U);
  expect_balance();
}

// Goal: every part of the filter counts, alone: of two deliveries that differ in it, one is taken.
TEST_P(JobContract, TakesOnlyWhatTheFilterTakes) {
  const AcceptedEvent one = dead("evt_1");
  clock_.advance(hour);
  AcceptOrder other = order("evt_2", true, {"crm"});
  other.source = "/other";
  other.type = "charge.failed";
  other.line.object = {9};
  const AcceptedEvent two = dead(std::move(other), "crm");
  clock_.advance(hour);
  std::map<std::string, JobScope> scopes;
  scopes["source"].filter.source = "/other";
  scopes["to"].filter.to = "crm";
  scopes["type"].filter.type = "charge.failed";
  scopes["object"].filter.object = ScopeDigest{9};
  scopes["from"].filter.from = two.id.accepted_at();
  for (auto& [name, scope] : scopes) {
    SCOPED_TRACE(name);
    scope.filter.state = DeliveryState::dead;
    const InboxJob job = finish(started(scope).number);
    EXPECT_EQ(job.taken, 1U);
    EXPECT_EQ(see(one.id).state, DeliveryState::dead);
    EXPECT_EQ(see(two.id).job, job.number);
    const std::vector<store::TakenDelivery> taken = take(10, "crm");
    ASSERT_EQ(taken.size(), 1U);
    ASSERT_TRUE(settle(two.id, see(two.id).attempt, DeliveryState::dead, Millis{0}, "crm").has_value());
  }
  JobScope until = dead_ones();
  until.filter.until = two.id.accepted_at();
  EXPECT_EQ(finish(started(until).number).taken, 1U);
  EXPECT_EQ(see(one.id).state, DeliveryState::waiting);
  EXPECT_EQ(see(two.id).state, DeliveryState::dead);
  JobScope why = dead_ones();
  why.why = "another reason";
  EXPECT_EQ(finish(started(why).number).taken, 0U);
  why.why = "a test";
  EXPECT_EQ(finish(started(why).number).taken, 1U);
  JobScope state;
  state.filter.state = DeliveryState::done;
  EXPECT_EQ(finish(started(state).number).taken, 0U);
  expect_balance();
}

// Goal: what is accepted after the plan is not the job's, though it dies before the job comes there.
TEST_P(JobContract, IsAboutWhatCameBeforeIt) {
  dead("evt_1");
  const InboxJob planned = plan(dead_ones());
  pass(Millis{5});
  const AcceptedEvent later = dead("evt_2");
  ASSERT_TRUE(start(planned).has_value());
  EXPECT_EQ(finish(planned.number).taken, 1U);
  EXPECT_EQ(see(later.id).state, DeliveryState::dead);
}

// Goal: a plan is started once, with its token and its count, while it is young; starting it again changes nothing.
TEST_P(JobContract, StartsAPlanOnce) {
  dead("evt_1");
  const InboxJob planned = plan(dead_ones());
  InboxJob wrong = planned;
  wrong.count = 2;
  EXPECT_EQ(start(wrong).error().code, Code::invalid);
  wrong = planned;
  wrong.token = "of nobody";
  EXPECT_EQ(start(wrong).error().code, Code::invalid);
  EXPECT_EQ(advance(planned.number).job.taken, 0U);
  ASSERT_TRUE(start(planned).has_value());
  EXPECT_EQ(finish(planned.number).state, JobState::done);
  const Result<InboxJob> again = start(planned);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->state, JobState::done);
  EXPECT_EQ(again->taken, 1U);
  const InboxJob old = plan(dead_ones());
  EXPECT_GT(old.number, planned.number);
  clock_.advance(store::InboxJobs::plan_kept_for);
  EXPECT_EQ(start(old).error().code, Code::invalid);
}

// Goal: a job that is cancelled takes nothing more; what it has taken goes on.
TEST_P(JobContract, IsCancelled) {
  for (int i = 0; i < 4; ++i) dead("evt_" + std::to_string(i));
  const InboxJob job = started(dead_ones());
  EXPECT_EQ(advance(job.number, 2).job.taken, 2U);
  ASSERT_TRUE(run(context_, opened_.inbox_jobs->cancel(job.number)).has_value());
  EXPECT_EQ(advance(job.number).job.taken, 2U);
  EXPECT_EQ(run(context_, opened_.inbox_jobs->cancel(job.number)).error().code, Code::fenced);
  EXPECT_EQ(run(context_, opened_.inbox_jobs->cancel(77)).error().code, Code::invalid);
  EXPECT_EQ(take().size(), 2U);
  EXPECT_EQ(count(DeliveryState::dead), 2U);
}

// Goal: a job counts how what it sent ends, once each, also if an operator takes a delivery out of its hands.
TEST_P(JobContract, CountsHowItEnds) {
  std::vector<core::EventId> ids;
  ids.reserve(4);
  for (int i = 0; i < 4; ++i) ids.push_back(dead("evt_" + std::to_string(i)).id);
  const InboxJob job = finish(started(dead_ones()).number);
  ASSERT_EQ(take(3).size(), 3U);
  ASSERT_TRUE(settle(ids[0], 2, DeliveryState::done).has_value());
  ASSERT_TRUE(settle(ids[1], 2, DeliveryState::dead).has_value());
  ASSERT_TRUE(settle(ids[2], 2, DeliveryState::waiting).has_value());
  ASSERT_TRUE(change(ids[3], DeliveryChange::What::redeliver).has_value());
  InboxJob now = this->job(job.number);
  EXPECT_EQ(std::vector({now.done, now.dead, now.other, open_of(now)}), (std::vector<std::uint64_t>{1, 1, 1, 1}));
  ASSERT_TRUE(change(ids[1], DeliveryChange::What::redeliver).has_value());
  ASSERT_EQ(take().size(), 3U);
  ASSERT_TRUE(settle(ids[1], 3, DeliveryState::done).has_value());
  ASSERT_TRUE(settle(ids[2], 3, DeliveryState::done).has_value());
  now = this->job(job.number);
  EXPECT_EQ(std::vector({now.done, now.dead, now.other, open_of(now)}), (std::vector<std::uint64_t>{2, 1, 1, 0}));
  expect_balance();
}

// Goal: events that came before a destination was there are given to it once, behind those that are new.
TEST_P(JobContract, GivesEarlierEventsToANewDestination) {
  const AcceptedEvent ended = accept("evt_1", true);
  ASSERT_TRUE(settle(ended.id, 1, DeliveryState::done).has_value());
  accept(order("evt_2", false, {"billing", "crm"}));
  const AcceptedEvent gone = accept("evt_3", true);
  ASSERT_TRUE(settle(gone.id, 1, DeliveryState::done).has_value());
  ASSERT_TRUE(run(context_, opened_.inbox_desk->erase(gone.id, "a test")).has_value());
  JobScope scope;
  scope.action = JobAction::backfill;
  scope.filter.source = "/h";
  scope.filter.to = "crm";
  EXPECT_EQ(finish(started(scope).number).taken, 1U);
  EXPECT_EQ(finish(started(scope).number).taken, 0U);
  const std::vector<store::TakenDelivery> taken = take(10, "crm");
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(text_of(taken[0].event.id), "evt_2");
  EXPECT_EQ(text_of(taken[1].event.id), "evt_1");
  EXPECT_EQ(taken[1].event.deliveries[taken[1].at].attempt, 1U);
  ASSERT_TRUE(settle(ended.id, 1, DeliveryState::done, Millis{0}, "crm").has_value());
  expect_balance();
}

// Goal: the bodies of an object go, whatever became of its events; their keys stay. An attempt that runs is waited for.
TEST_P(JobContract, ErasesAnObject) {
  AcceptOrder running = order("evt_1", true);
  running.line.object = {4};
  AcceptOrder waiting = order("evt_2", false);
  waiting.line.object = {4};
  const AcceptedEvent first = accept(std::move(running));
  const AcceptedEvent second = accept(std::move(waiting));
  const AcceptedEvent other = accept("evt_3");
  JobScope scope;
  scope.action = JobAction::erase;
  scope.filter.object = ScopeDigest{4};
  const InboxJob job = started(scope);
  EXPECT_EQ(advance(job.number).job.taken, 0U);
  EXPECT_EQ(advance(job.number).job.state, JobState::running);
  ASSERT_TRUE(settle(first.id, 1, DeliveryState::done).has_value());
  const InboxJob ended = finish(job.number);
  EXPECT_EQ(ended.taken, 2U);
  EXPECT_EQ(text_of(first.id), "");
  EXPECT_EQ(text_of(second.id), "");
  EXPECT_EQ(text_of(other.id), "evt_3");
  EXPECT_EQ(see(second.id).state, DeliveryState::discarded);
  const Result<store::Acceptance> again = offer(order("evt_1", true));
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(std::holds_alternative<store::KnownEvent>(*again));
  expect_balance();
}

// Goal: what waits, is dead or unknown is discarded in bulk, and nothing else.
TEST_P(JobContract, Discards) {
  dead("evt_1");
  const AcceptedEvent waits = accept("evt_2");
  EXPECT_EQ(finish([&] {
              JobScope scope = dead_ones();
              scope.action = JobAction::discard;
              return started(scope).number;
            }())
                .taken,
            1U);
  EXPECT_EQ(count(DeliveryState::discarded), 1U);
  EXPECT_EQ(see(waits.id).state, DeliveryState::waiting);
  EXPECT_TRUE(take(10, "crm").empty());
  expect_balance();
}

// Goal: jobs stay few: the oldest that have ended go, those that run stay.
TEST_P(QuickJobContract, ForgetsOldJobs) {
  dead("evt_1");
  const InboxJob runs = started(dead_ones());
  for (std::size_t i = 0; i < store::InboxJobs::kept_max + 5; ++i) {
    const InboxJob each = started(dead_ones());
    ASSERT_TRUE(run(context_, opened_.inbox_jobs->cancel(each.number)).has_value());
  }
  const Result<std::vector<InboxJob>> all = run(context_, opened_.inbox_jobs->jobs());
  ASSERT_TRUE(all.has_value());
  EXPECT_LE(all->size(), store::InboxJobs::kept_max);
  EXPECT_EQ(all->front().number, runs.number);
}

// Goal: replays are not looked at when their share is used up, and nobody is told to come back for them.
TEST_P(JobContract, LeavesReplaysWhenThereIsNoRoomForThem) {
  dead("evt_1");
  finish(started(dead_ones()).number);
  store::TakeOrder none{.to = "billing", .limit = 10, .replays_max = 0};
  const Result<store::TakenDeliveries> taken = run(context_, opened_.inbox->take(std::move(none)));
  ASSERT_TRUE(taken.has_value());
  EXPECT_TRUE(taken->deliveries.empty());
  EXPECT_FALSE(taken->next.has_value());
  EXPECT_EQ(take().size(), 1U);
}

// Goal: a job goes on where it was when its process died, and no delivery is sent twice by it.
TEST_P(KeptJobContract, GoesOnAfterADeath) {
  constexpr std::size_t all = 9;
  for (std::size_t i = 0; i < all; ++i) dead("evt_" + std::to_string(i));
  const std::uint64_t number = started(dead_ones()).number;
  std::map<std::string, int> sent;
  for (std::size_t i = 0; i < all; ++i) {
    advance(number, 1);
    for (const store::TakenDelivery& each : take()) {
      ++sent[text_of(each.event.id)];
      const DeliveryRecord& delivery = each.event.deliveries[each.at];
      ASSERT_TRUE(settle(each.event.id, delivery.attempt, DeliveryState::dead).has_value());
    }
    restart();
    adopt();
  }
  const InboxJob job = finish(number);
  EXPECT_EQ(job.taken, all);
  EXPECT_EQ(job.dead, all);
  EXPECT_EQ(sent.size(), all);
  for (const auto& [text, times] : sent) EXPECT_EQ(times, 1) << text;
  expect_balance();
}

}  // namespace
}  // namespace semel::test
