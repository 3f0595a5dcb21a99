// How long events are kept that others still need: a body that one destination may want again, and a dead event that
// holds up its object.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "inbox/contract.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "support/run.h"
#include <semel/result.h>

namespace semel::test {
namespace {

// What holds up an object is kept as long as it does, also behind its ttl: an operator must be able to see it and to
// decide. Afterwards the object goes on, and the event goes.
TEST_P(InboxContract, KeepsADeadEventThatBlocksItsObject) {
  std::vector<AcceptedEvent> both;
  for (const std::string stamp : {"1", "2"}) {
    AcceptOrder made = in_line("event " + stamp, stamp, Line::Kind::fifo, true);
    made.line.blocks = true;
    both.push_back(accept(std::move(made)));
  }
  settle_for(both.front().id, "billing", DeliveryState::dead, hour);
  for (int day = 0; day < 3; ++day) {
    clock_.advance(25 * hour);
    sweep();
  }
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(see(both.front().id).state, DeliveryState::dead);
  EXPECT_EQ(see(both.back().id).state, DeliveryState::waiting);
  expect_balance();
  ASSERT_TRUE(change(both.front().id, DeliveryChange::What::discard).has_value());
  EXPECT_EQ(taken_texts(), std::vector<std::string>{"event 2"});
  settle_for(both.back().id, "billing", DeliveryState::done, hour);
  clock_.advance(25 * hour);
  sweep();
  const Result<std::optional<AcceptedEvent>> gone = run(context_, opened_.inbox_desk->find(both.front().id));
  ASSERT_TRUE(gone.has_value());
  EXPECT_FALSE(gone->has_value());
}

// A dead delivery keeps the body as long as dead ones are kept, also if another delivery of the event is done later
// and would need it for less.
TEST_P(InboxContract, ALateEndDoesNotShortenWhatADeadOneKeeps) {
  const AcceptedEvent event = accept(order("evt_1", true, {"billing", "crm"}));
  settle_for(event.id, "crm", DeliveryState::dead, 10 * hour);
  settle_for(event.id, "billing", DeliveryState::done, hour);
  clock_.advance(2 * hour);
  sweep();
  EXPECT_EQ(text_of(event.id), "evt_1");
  clock_.advance(9 * hour);
  sweep();
  EXPECT_EQ(text_of(event.id), "");
  expect_balance();
}

}  // namespace
}  // namespace semel::test
