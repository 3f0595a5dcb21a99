// The order of the events of an object.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "inbox/contract.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "support/run.h"

namespace semel::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Stores, LoneInboxContract,
                         testing::Values(InboxBackend{"memory", false, false}, InboxBackend{"embedded", true, false},
                                         InboxBackend{"embedded_encrypted", true, true}),
                         [](const auto& info) { return info.param.name; });

// fifo: one of an object at a time, in the order of their stamps; nobody overtakes one that is tried again.
TEST_P(InboxContract, KeepsTheOrderOfAnObject) {
  const AcceptedEvent second = accept(in_line("second", "2", Line::Kind::fifo));
  accept(in_line("third", "3", Line::Kind::fifo));
  accept(in_line("first", "1", Line::Kind::fifo));
  ASSERT_EQ(taken_texts(), std::vector<std::string>{"first"});
  EXPECT_TRUE(take().empty());
  store::DeliveryFilter wanted;
  wanted.state = DeliveryState::running;
  const Result<store::DeliveryList> running = run(context_, opened_.inbox_desk->list(wanted, {}));
  ASSERT_TRUE(running.has_value());
  ASSERT_EQ(running->items.size(), 1U);
  const core::EventId first = running->items.front().event.id;
  ASSERT_TRUE(settle(first, 1, DeliveryState::waiting, Millis{60'000}).has_value());
  EXPECT_TRUE(take().empty()) << "the first is tried again before the second is tried";
  clock_.advance(Millis{60'000});
  ASSERT_EQ(taken_texts(), std::vector<std::string>{"first"});
  ASSERT_TRUE(settle(first, 2, DeliveryState::done).has_value());
  ASSERT_EQ(taken_texts(), std::vector<std::string>{"second"});
  ASSERT_TRUE(settle(second.id, 1, DeliveryState::dead).has_value());
  EXPECT_EQ(taken_texts(), std::vector<std::string>{"third"});
  expect_balance();
}

// fifo with on_dead = "block": those behind a dead event wait until somebody decides.
TEST_P(InboxContract, LetsADeadEventBlockItsObject) {
  AcceptOrder first = in_line("first", "1", Line::Kind::fifo, true);
  AcceptOrder second = in_line("second", "2", Line::Kind::fifo, true);
  first.line.blocks = second.line.blocks = true;
  const AcceptedEvent dead = accept(std::move(first));
  const AcceptedEvent waits = accept(std::move(second));
  EXPECT_EQ(waits.deliveries.front().state, DeliveryState::waiting);
  ASSERT_TRUE(settle(dead.id, 1, DeliveryState::dead).has_value());
  EXPECT_TRUE(take().empty());
  ASSERT_TRUE(change(dead.id, DeliveryChange::What::discard).has_value());
  EXPECT_EQ(taken_texts(), std::vector<std::string>{"second"});
  expect_balance();
}

// fifo with a window: an event waits that long for an earlier one that has not arrived.
TEST_P(InboxContract, WaitsForEarlierEventsToArrive) {
  AcceptOrder second = in_line("second", "2", Line::Kind::fifo, true);
  AcceptOrder first = in_line("first", "1", Line::Kind::fifo, true);
  second.line.reorder = first.line.reorder = 2 * hour;
  EXPECT_EQ(accept(std::move(second)).deliveries.front().state, DeliveryState::waiting);
  clock_.advance(hour);
  const AcceptedEvent early = accept(std::move(first));
  EXPECT_TRUE(take().empty());
  clock_.advance(2 * hour);
  ASSERT_EQ(taken_texts(), std::vector<std::string>{"first"});
  ASSERT_TRUE(settle(early.id, 1, DeliveryState::done).has_value());
  EXPECT_EQ(taken_texts(), std::vector<std::string>{"second"});
}

// latest: what is older than an event that is done is superseded, and is never delivered.
TEST_P(InboxContract, SupersedesWhatIsOlderThanTheLatest) {
  const AcceptedEvent newer = accept(in_line("newer", "2", Line::Kind::latest, true));
  const AcceptedEvent waiting = accept(in_line("waiting", "1", Line::Kind::latest, true));
  EXPECT_EQ(waiting.deliveries.front().state, DeliveryState::waiting);
  ASSERT_TRUE(settle(newer.id, 1, DeliveryState::done).has_value());
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(see(waiting.id).state, DeliveryState::superseded);
  EXPECT_EQ(accept(in_line("late", "0", Line::Kind::latest, true)).deliveries.front().state, DeliveryState::superseded);
  EXPECT_EQ(accept(in_line("next", "3", Line::Kind::latest, true)).deliveries.front().state, DeliveryState::running);
  expect_balance();
}

// Whoever looks for what is due is told of all that has to wait, and of the next of an object when its turn comes, in
// whatever way the one before it ended.
TEST_P(LoneInboxContract, TellsWhatIsDue) {
  std::optional<Time> told;
  opened_.inbox->tell_due([&](const std::string& to, Time at) {
    if (to == "billing") told = at;
  });
  const AcceptedEvent first = accept(in_line("first", "1", Line::Kind::fifo, true));
  const AcceptedEvent second = accept(in_line("second", "2", Line::Kind::fifo, true));
  EXPECT_EQ(told, std::nullopt) << "one runs, and the other is in line behind it";
  ASSERT_TRUE(settle(first.id, 1, DeliveryState::waiting, Millis{60'000}).has_value());
  EXPECT_EQ(told, clock_.now() + Millis{60'000});
  ASSERT_TRUE(change(first.id, DeliveryChange::What::discard).has_value());
  EXPECT_EQ(told, clock_.now());
  ASSERT_EQ(taken_texts(), std::vector<std::string>{"second"});
  ASSERT_TRUE(settle(second.id, 1, DeliveryState::done).has_value());

  told.reset();
  const auto latest = [&](const std::string& text, const std::string& stamp) {
    AcceptOrder made = in_line(text, stamp, Line::Kind::latest, true);
    made.line.object = {9};
    return accept(std::move(made));
  };
  const AcceptedEvent fifth = latest("fifth", "5");
  const AcceptedEvent sixth = latest("sixth", "6");
  const AcceptedEvent seventh = latest("seventh", "7");
  ASSERT_TRUE(settle(fifth.id, 1, DeliveryState::done).has_value());
  std::size_t looks = 0;
  for (; told && looks < 10; ++looks) {  // as a dispatcher does: it looks if it was told
    told.reset();
    for (const store::TakenDelivery& each : take()) {
      ASSERT_TRUE(settle(each.event.id, each.event.deliveries.front().attempt, DeliveryState::done).has_value());
    }
  }
  EXPECT_LT(looks, 10U) << "then nothing is due any more";
  EXPECT_TRUE(has_ended(see(sixth.id).state));
  EXPECT_TRUE(has_ended(see(seventh.id).state));
  expect_balance();
}

}  // namespace
}  // namespace semel::test
