// Accepting, taking, settling; several destinations; a full inbox; what operators do, retention, and dead processes.

#include "inbox/contract.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "support/run.h"

namespace semel::test {
namespace {

enum class Wanted : std::uint8_t { all, those_that_keep };

std::vector<InboxBackend> backends(Wanted wanted) {
  std::vector<InboxBackend> found;
  if (wanted == Wanted::all) {
    found = {InboxBackend{"memory", false, false}, InboxBackend{"memory_encrypted", false, true}};
  }
  found.push_back({"embedded", true, false});
  found.push_back({"embedded_encrypted", true, true});
#ifdef SEMEL_HAS_POSTGRES
  found.push_back({"postgres", true, false, InboxServer::postgres});
  found.push_back({"postgres_pgbouncer", true, false, InboxServer::pgbouncer});
  found.push_back({"postgres_encrypted", true, true, InboxServer::postgres});
#endif
  return found;
}

INSTANTIATE_TEST_SUITE_P(Stores, InboxContract, testing::ValuesIn(backends(Wanted::all)),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Stores, KeptInboxContract, testing::ValuesIn(backends(Wanted::those_that_keep)),
                         [](const auto& info) { return info.param.name; });

// An event is accepted once; a duplicate finds its key, whatever has become of the event since.
TEST_P(InboxContract, AcceptsAnEventOnce) {
  const AcceptedEvent event = accept("evt_1", true);
  EXPECT_EQ(event.deliveries.front().state, DeliveryState::running);
  EXPECT_EQ(event.deliveries.front().attempt, 1U);
  for (const DeliveryState end : {DeliveryState::running, DeliveryState::done}) {
    if (end == DeliveryState::done) ASSERT_TRUE(settle(event.id, 1, end).has_value());
    const Result<store::Acceptance> again = offer(order("evt_1", true));
    ASSERT_TRUE(again.has_value());
    const auto* known = std::get_if<store::KnownEvent>(&*again);
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(known->held.record.state, Record::State::done);
    EXPECT_EQ(known->held.record.key.id, order("evt_1", true).key.id);
  }
  EXPECT_TRUE(take().empty());
  expect_balance();
}

// What came with it is given back, byte for byte.
TEST_P(InboxContract, KeepsWhatAnEventCameWith) {
  const AcceptedEvent event = accept("evt_1");
  const Result<std::optional<store::Parcel>> parcel = run(context_, opened_.inbox->load(event.id));
  ASSERT_TRUE(parcel.has_value());
  ASSERT_TRUE(parcel->has_value());
  EXPECT_EQ((*parcel)->body, "body of evt_1");
}

// What waits is taken when it is due, oldest first, as often as there is room, and under the next number.
TEST_P(InboxContract, TakesWhatIsDue) {
  for (int i = 0; i < 5; ++i) accept("evt_" + std::to_string(i));
  EXPECT_EQ(taken_texts(2), (std::vector<std::string>{"evt_0", "evt_1"}));
  const std::vector<store::TakenDelivery> rest = take();
  ASSERT_EQ(rest.size(), 3U);
  EXPECT_EQ(rest.front().event.deliveries.front().attempt, 1U);
  // Of a server, only roughly: its time goes on.
  const Millis slack = GetParam().shared() ? hour / 2 : Millis{1};
  ASSERT_TRUE(settle(rest[0].event.id, 1, DeliveryState::waiting, hour).has_value());
  EXPECT_TRUE(take().empty());
  ASSERT_TRUE(next_.has_value());
  EXPECT_LE(*next_ - clock_.now(), hour);
  EXPECT_GT(*next_ - clock_.now(), hour - slack);
  clock_.advance(hour - slack);
  EXPECT_TRUE(take().empty());
  clock_.advance(slack);
  const std::vector<store::TakenDelivery> again = take();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again.front().event.deliveries.front().attempt, 2U);
  EXPECT_EQ(again.front().event.deliveries.front().tries, 1U);
  expect_balance();
}

// What was done at the first attempt has not failed; what was done at the second has failed once.
TEST_P(InboxContract, CountsTheAttemptsThatFailed) {
  const AcceptedEvent once = accept("once");
  const AcceptedEvent twice = accept("twice");
  ASSERT_EQ(take().size(), 2U);
  ASSERT_TRUE(settle(once.id, 1, DeliveryState::done).has_value());
  ASSERT_TRUE(settle(twice.id, 1, DeliveryState::waiting).has_value());
  ASSERT_EQ(take().size(), 1U);
  ASSERT_TRUE(settle(twice.id, 2, DeliveryState::done).has_value());
  EXPECT_EQ(see(once.id).tries, 0U);
  EXPECT_EQ(see(twice.id).tries, 1U);
}

// The oldest that had to wait is known while it has not ended, whether it waits or is tried again just now; what runs
// since it came is not old yet.
TEST_P(InboxContract, KnowsTheOldestThatWaits) {
  EXPECT_EQ(oldest_hours(), std::nullopt);
  clock_.advance(hour);
  const AcceptedEvent runs = accept("runs", true);
  EXPECT_EQ(oldest_hours(), std::nullopt);
  clock_.advance(hour);
  const AcceptedEvent first = accept("first");
  clock_.advance(2 * hour);
  accept("second");
  clock_.advance(4 * hour);
  EXPECT_EQ(oldest_hours(), 6);
  ASSERT_EQ(taken_texts(1), std::vector<std::string>{"first"});
  EXPECT_EQ(oldest_hours(), 6);
  // One that is older than all of them has to wait from now on.
  ASSERT_TRUE(settle(runs.id, 1, DeliveryState::waiting, hour).has_value());
  EXPECT_EQ(oldest_hours(), 7);
  clock_.advance(hour);
  for (const store::TakenDelivery& each : take()) {
    ASSERT_TRUE(settle(each.event.id, each.event.deliveries.front().attempt, DeliveryState::done).has_value());
  }
  EXPECT_EQ(oldest_hours(), 7);  // "first" still runs
  ASSERT_TRUE(settle(first.id, 1, DeliveryState::done).has_value());
  EXPECT_EQ(oldest_hours(), std::nullopt);
  // What is sent again is as old as that.
  ASSERT_TRUE(change(runs.id, DeliveryChange::What::redeliver).has_value());
  EXPECT_EQ(oldest_hours(), 0);
  clock_.advance(hour);
  ASSERT_TRUE(change(runs.id, DeliveryChange::What::redeliver).has_value());
  EXPECT_EQ(oldest_hours(), 0);
  ASSERT_TRUE(change(runs.id, DeliveryChange::What::discard).has_value());
  EXPECT_EQ(oldest_hours(), std::nullopt);
  expect_balance();
}

// An attempt ends once, and only the attempt that runs can end. A repetition of its end changes nothing.
TEST_P(InboxContract, FencesAttempts) {
  const AcceptedEvent event = accept("evt_1", true);
  EXPECT_EQ(settle(event.id, 2, DeliveryState::done).error().code, Code::fenced);
  ASSERT_TRUE(settle(event.id, 1, DeliveryState::waiting).has_value());
  EXPECT_TRUE(settle(event.id, 1, DeliveryState::waiting).has_value());
  EXPECT_EQ(settle(event.id, 1, DeliveryState::done).error().code, Code::fenced);
  ASSERT_EQ(take().size(), 1U);
  EXPECT_EQ(settle(event.id, 1, DeliveryState::done).error().code, Code::fenced);
  EXPECT_TRUE(settle(event.id, 2, DeliveryState::done).has_value());
  expect_balance();
}

// A full inbox takes nothing, and says so; what ends makes room.
TEST_P(InboxContract, RefusesWhatDoesNotFit) {
  AcceptOrder first = order("evt_1", true);
  first.depth_max = 1;
  const AcceptedEvent event = accept(std::move(first));
  AcceptOrder second = order("evt_2", true);
  second.depth_max = 1;
  Result<store::Acceptance> refused = offer(second);
  ASSERT_TRUE(refused.has_value());
  EXPECT_TRUE(std::holds_alternative<store::InboxFull>(*refused));
  ASSERT_TRUE(settle(event.id, 1, DeliveryState::done).has_value());
  EXPECT_EQ(accept(second).deliveries.front().state, DeliveryState::running);
  AcceptOrder large = order("evt_3", true);
  large.bytes_max = 20;
  refused = offer(std::move(large));
  ASSERT_TRUE(refused.has_value());
  EXPECT_TRUE(std::holds_alternative<store::InboxFull>(*refused));
  expect_balance();
}

// One event, several destinations: each delivery has its own state; what a filter skipped says by which rule.
TEST_P(InboxContract, DeliversToSeveral) {
  AcceptOrder to_three = order("evt_1", true, {"billing", "crm", "mail"});
  to_three.to[1].skipped_by = "{type} = 'x'";
  to_three.to[2].room = false;
  const AcceptedEvent event = accept(std::move(to_three));
  EXPECT_EQ(event.deliveries[0].state, DeliveryState::running);
  EXPECT_EQ(event.deliveries[1].state, DeliveryState::skipped);
  EXPECT_EQ(event.deliveries[1].why, "{type} = 'x'");
  EXPECT_EQ(event.deliveries[2].state, DeliveryState::waiting);
  EXPECT_TRUE(take(10, "crm").empty());
  EXPECT_EQ(take(10, "mail").size(), 1U);
  ASSERT_TRUE(settle(event.id, 1, DeliveryState::dead, Millis{0}, "mail").has_value());
  ASSERT_TRUE(settle(event.id, 1, DeliveryState::done).has_value());
  EXPECT_EQ(count(DeliveryState::skipped), 1U);
  expect_balance();
}

// What nobody is to get is dead when it is accepted: no queue has it, it is counted, and an operator can send it.
TEST_P(InboxContract, KeepsWhatIsDeadFromTheBeginning) {
  AcceptOrder made = order("evt_1", true, {"billing", "crm"});
  made.to[0].room = false;
  made.to[0].dead_for = "key-reused";
  const AcceptedEvent event = accept(made);
  EXPECT_EQ(event.deliveries[0].state, DeliveryState::dead);
  EXPECT_EQ(event.deliveries[1].state, DeliveryState::running);
  EXPECT_EQ(see(event.id).state, DeliveryState::dead);
  EXPECT_EQ(see(event.id).why, "key-reused");
  EXPECT_EQ(see(event.id).attempt, 0U);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(count(DeliveryState::dead), 1U);
  EXPECT_EQ(count(DeliveryState::skipped), 0U);
  const Result<store::Acceptance> again = offer(made);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(std::holds_alternative<store::KnownEvent>(*again));
  EXPECT_EQ(count(DeliveryState::dead), 1U);
  expect_balance();
  ASSERT_TRUE(change(event.id, DeliveryChange::What::redeliver).has_value());
  ASSERT_EQ(take().size(), 1U);
  ASSERT_TRUE(settle(event.id, 1, DeliveryState::done).has_value());
  expect_balance();
}

// An operator sends any event again that is not running, with the next number; it is never swallowed.
TEST_P(InboxContract, RedeliversByHand) {
  const AcceptedEvent event = accept("evt_1", true);
  EXPECT_EQ(change(event.id, DeliveryChange::What::redeliver).error().code, Code::fenced);
  ASSERT_TRUE(settle(event.id, 1, DeliveryState::done).has_value());
  for (std::uint32_t attempt = 2; attempt < 5; ++attempt) {
    ASSERT_TRUE(change(event.id, DeliveryChange::What::redeliver).has_value());
    const std::vector<store::TakenDelivery> taken = take();
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken.front().event.deliveries.front().attempt, attempt);
    ASSERT_TRUE(settle(event.id, attempt, attempt == 3 ? DeliveryState::dead : DeliveryState::done).has_value());
  }
  expect_balance();
}

// An unknown outcome waits for somebody: it took effect, or it is tried again.
TEST_P(InboxContract, LetsAnOperatorResolveAnUnknownOutcome) {
  const AcceptedEvent event = accept("evt_1", true);
  ASSERT_TRUE(settle(event.id, 1, DeliveryState::unknown).has_value());
  EXPECT_TRUE(take().empty());
  ASSERT_TRUE(change(event.id, DeliveryChange::What::confirm).has_value());
  EXPECT_EQ(see(event.id).state, DeliveryState::done);
  EXPECT_EQ(change(event.id, DeliveryChange::What::confirm).error().code, Code::fenced);
  expect_balance();
}

// Bodies are dropped when their time has come, and not before; the key and the event stay as long as the ttl.
TEST_P(InboxContract, DropsBodiesByTheirState) {
  const AcceptedEvent done = accept("done", true);
  const AcceptedEvent waits = accept("waits");
  ASSERT_TRUE(settle(done.id, 1, DeliveryState::done).has_value());
  const auto sweep = [&] { return run(context_, opened_.inbox_desk->sweep_inbox(100)).value(); };
  EXPECT_EQ(sweep(), 0U);
  clock_.advance(hour);
  EXPECT_GE(sweep(), 1U);
  EXPECT_EQ(text_of(done.id), "");
  EXPECT_EQ(text_of(waits.id), "waits");
  EXPECT_EQ(change(done.id, DeliveryChange::What::redeliver).error().code, Code::invalid);
  const Result<store::Acceptance> again = offer(order("done", true));
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(std::holds_alternative<store::KnownEvent>(*again));
  clock_.advance(24 * hour);
  EXPECT_GE(sweep(), 1U);
  const Result<std::optional<AcceptedEvent>> gone = run(context_, opened_.inbox_desk->find(done.id));
  ASSERT_TRUE(gone.has_value());
  EXPECT_FALSE(gone->has_value());
  EXPECT_EQ(see(waits.id).state, DeliveryState::waiting) << "what still waits is kept, however long that takes";
  for (const store::DeliveryTally& tally : status()) EXPECT_EQ(tally.unaccounted(), 0);
}

// Erasing drops the body at once, keeps the key, and discards what waits; what runs is not erased.
TEST_P(InboxContract, ErasesBodies) {
  const AcceptedEvent event = accept("evt_1", true);
  EXPECT_EQ(run(context_, opened_.inbox_desk->erase(event.id, "privacy")).error().code, Code::fenced);
  ASSERT_TRUE(settle(event.id, 1, DeliveryState::waiting).has_value());
  EXPECT_TRUE(run(context_, opened_.inbox_desk->erase(event.id, "privacy")).value());
  EXPECT_EQ(text_of(event.id), "");
  EXPECT_EQ(see(event.id).state, DeliveryState::discarded);
  EXPECT_FALSE(run(context_, opened_.inbox_desk->erase(event.id, "privacy")).value());
  const Result<store::Acceptance> again = offer(order("evt_1", true));
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(std::holds_alternative<store::KnownEvent>(*again));
  expect_balance();
}

// A process dies with attempts under way, begun at once and taken later: the next one finds all of them, lets their
// handlers finish, and then tries them under the next number. What had ended stays so.
TEST_P(KeptInboxContract, PutsBackWhatADeadProcessLeft) {
  const AcceptedEvent done = accept("done", true);
  const AcceptedEvent fresh = accept("fresh", true);
  const AcceptedEvent waits = accept("waits");
  ASSERT_EQ(take().size(), 1U);
  ASSERT_TRUE(settle(done.id, 1, DeliveryState::done).has_value());
  clock_.advance(Millis{2'000});
  const AcceptedEvent late = accept("late", true);  // moves the mark, which must stay before what runs
  ASSERT_TRUE(settle(late.id, 1, DeliveryState::done).has_value());
  restart();
  EXPECT_TRUE(take().empty()) << "nothing is taken before it has been put back";
  if (GetParam().shared()) {
    accept("early");
  } else {
    EXPECT_EQ(accept("early", true).deliveries.front().state, DeliveryState::waiting);
  }
  adopt();
  EXPECT_EQ(taken_texts(), std::vector<std::string>{"early"});
  clock_.advance(hour / 2);
  EXPECT_TRUE(take().empty());
  clock_.advance(hour / 2);
  const std::vector<store::TakenDelivery> taken = take();
  ASSERT_EQ(taken.size(), 2U);
  for (const store::TakenDelivery& each : taken) {
    EXPECT_EQ(each.event.deliveries.front().attempt, 2U);
    EXPECT_TRUE(each.event.id == fresh.id || each.event.id == waits.id);
  }
  EXPECT_EQ(settle(fresh.id, 1, DeliveryState::done).error().code, Code::fenced);
  EXPECT_EQ(see(done.id).state, DeliveryState::done);
  expect_balance();
}

// A pause is remembered.
TEST_P(KeptInboxContract, RemembersPauses) {
  store::DestinationControl made{.to = "billing", .paused = true, .until = std::nullopt, .reason = "a deploy"};
  ASSERT_TRUE(run(context_, opened_.inbox_desk->control(made)).has_value());
  restart();
  const Result<std::vector<store::DestinationControl>> found = run(context_, opened_.inbox_desk->controls());
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_TRUE(found->front().paused);
  EXPECT_EQ(found->front().reason, "a deploy");
}

}  // namespace
}  // namespace semel::test
