// What duplicates hear once a handler has answered, and what is held after a crash.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/event_id.h"
#include "inbox/contract.h"
#include "store/inbox.h"
#include "store/lookup.h"
#include "support/run.h"
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::test {
namespace {

store::SettleOrder answered(const core::EventId& id, const std::string& body) {
  store::SettleOrder order;
  order.id = id;
  order.to = "billing";
  order.attempt = 1;
  order.status = 201;
  order.retain_ended = hour;
  order.answer = [body](const Record&) {
    return std::make_shared<const Response>(Response{.status = 201, .fields = {}, .body = body});
  };
  return order;
}

// Until a request is done, its key holds what it was acknowledged with; from then on, the handler's answer. Both are
// there after a restart.
TEST_P(InboxContract, AnswersDuplicatesAsTheHandlerDid) {
  const Key key = order("req_1", true).key;
  const AcceptedEvent event = accept("req_1", true);
  const auto stored = [&]() -> SharedResponse {
    const Result<std::optional<Held>> held = run(context_, opened_.lookup->look_up(key));
    if (!held || !*held) return nullptr;
    return (*held)->record.response;
  };
  ASSERT_NE(stored(), nullptr);
  EXPECT_EQ(stored()->status, 200);
  ASSERT_TRUE(run(context_, opened_.inbox->settle(answered(event.id, "created"))).has_value());
  ASSERT_NE(stored(), nullptr);
  EXPECT_EQ(stored()->status, 201);
  EXPECT_EQ(stored()->body, "created");
  if (GetParam().keeps) {
    restart();
    ASSERT_NE(stored(), nullptr);
    EXPECT_EQ(stored()->body, "created");
    adopt();
  }
  expect_balance();
}

// A request that ends after its key has expired does not answer for the one that has the key now.
TEST_P(InboxContract, LeavesAKeyAloneThatBelongsToAnother) {
  AcceptOrder first = order("req_1", true);
  first.ttl = hour;
  const AcceptedEvent old = accept(std::move(first));
  clock_.advance(2 * hour);
  accept("req_1", true);
  ASSERT_TRUE(run(context_, opened_.inbox->settle(answered(old.id, "too late"))).has_value());
  const auto stored = [&]() -> SharedResponse {
    const Result<std::optional<Held>> held = run(context_, opened_.lookup->look_up(order("req_1", true).key));
    if (!held || !*held) return nullptr;
    return (*held)->record.response;
  };
  ASSERT_NE(stored(), nullptr);
  EXPECT_EQ(stored()->status, 200);
}

// Where what may have taken effect waits for an operator, what a dead process left running does.
TEST_P(KeptInboxContract, HoldsWhatADeadProcessLeft) {
  const AcceptedEvent held = accept("held", true);
  restart();
  adopt({"billing"});
  EXPECT_EQ(see(held.id).state, DeliveryState::unknown);
  clock_.advance(hour);
  EXPECT_TRUE(take().empty());
  ASSERT_TRUE(change(held.id, DeliveryChange::What::redeliver).has_value());
  const std::vector<store::TakenDelivery> taken = take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken.front().event.deliveries.front().attempt, 2U);
  expect_balance();
}

// Where only an operator can tell what became of what he sent again, that waits for him, and nothing else does.
TEST_P(KeptInboxContract, HoldsWhatWasSentAgainAndCut) {
  const AcceptedEvent fresh = accept("fresh", true);
  const AcceptedEvent elsewhere = accept(order("elsewhere", true, {"crm"}));
  const AcceptedEvent again = accept("again", true);
  ASSERT_TRUE(settle(again.id, 1, DeliveryState::done).has_value());
  ASSERT_TRUE(change(again.id, DeliveryChange::What::redeliver).has_value());
  ASSERT_EQ(take().size(), 1U);
  restart();
  adopt({}, {"billing"});
  EXPECT_EQ(see(again.id).state, DeliveryState::unknown);
  EXPECT_EQ(see(fresh.id).state, DeliveryState::waiting);
  EXPECT_EQ(see(elsewhere.id).state, DeliveryState::waiting);
  clock_.advance(hour);
  EXPECT_EQ(taken_texts(), std::vector<std::string>{"fresh"});
  expect_balance();
}

}  // namespace
}  // namespace semel::test
