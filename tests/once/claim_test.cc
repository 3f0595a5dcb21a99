// Claims of holders that are no action of this process: they wait like others, and wake others.
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "once/fixture.h"
#include "support/run.h"

namespace semel::test {
namespace {

constexpr Policy waiting{.in_flight = Policy::InFlight::wait};

class OnceClaim : public OnceTest {
 protected:
  using ClaimSlot = std::shared_ptr<std::optional<Result<Claim>>>;
  ClaimSlot claim(std::uint64_t owner, Millis wait_max, Terms terms = {}) {
    terms.owner = owner;
    auto slot = std::make_shared<std::optional<Result<Claim>>>();
    boost::asio::co_spawn(context.get_executor(), once.claim(key_of(1), fingerprint_of(1), terms, wait_max),
                          [slot](const std::exception_ptr&, Result<Claim> claim) { slot->emplace(std::move(claim)); });
    settle();
    return slot;
  }
  static const Granted* granted(const ClaimSlot& slot) {
    return *slot && **slot ? std::get_if<Granted>(&***slot) : nullptr;
  }
  static const Held* held(const ClaimSlot& slot) { return *slot && **slot ? std::get_if<Held>(&***slot) : nullptr; }
};

// Who does not wait hears at once what holds the key.
TEST_F(OnceClaim, AnswersWhatTheStoreSays) {
  ASSERT_NE(granted(claim(1, Millis{0})), nullptr);
  const ClaimSlot second = claim(2, Millis{0});
  ASSERT_NE(held(second), nullptr);
  EXPECT_EQ(held(second)->record.state, Record::State::running);
  EXPECT_NE(granted(claim(1, Millis{0})), nullptr) << "the same owner has it";
}

// The end of a claim wakes both kinds of waiters: another holder, and a call of once().
TEST_F(OnceClaim, AnEndWakesThoseWhoWait) {
  const ClaimSlot first = claim(1, Millis{0});
  ASSERT_NE(granted(first), nullptr);
  const ClaimSlot holder = claim(2, Millis{20'000});
  Work never;
  const Slot caller = start(never.action(), waiting);
  EXPECT_FALSE(holder->has_value());
  ASSERT_TRUE(run(context, store->complete(key_of(1), granted(first)->fence, response_of("x"))));
  settle();
  EXPECT_FALSE(holder->has_value()) << "nobody has told them";
  once.ended(key_of(1));
  settle();
  ASSERT_NE(held(holder), nullptr);
  EXPECT_EQ(held(holder)->record.response->body, "x");
  ASSERT_TRUE(caller->has_value());
  EXPECT_TRUE(std::holds_alternative<Replayed>(**caller));
}

// An action of once() wakes a holder that waits, which then has the key if it was released.
TEST_F(OnceClaim, AKeyThatBecomesFreeIsTheWaiters) {
  Work work;
  start(work.action(), {});
  const ClaimSlot holder = claim(2, Millis{20'000});
  EXPECT_FALSE(holder->has_value());
  work.end({.verdict = Verdict::release, .response = response_of("no")});
  settle();
  ASSERT_NE(granted(holder), nullptr);
  EXPECT_EQ(granted(holder)->fence.number, 2U);
}

// Waiting ends after wait_max, with what the store said last.
TEST_F(OnceClaim, WaitsNoLongerThanItWasTold) {
  ASSERT_NE(granted(claim(1, Millis{0})), nullptr);
  const ClaimSlot second = claim(2, Millis{5'000});
  pass(Millis{4'900});
  EXPECT_FALSE(second->has_value());
  pass(Millis{200});
  ASSERT_NE(held(second), nullptr);
  EXPECT_EQ(held(second)->record.state, Record::State::running);
}

}  // namespace
}  // namespace semel::test
