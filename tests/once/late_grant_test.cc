// A grant that was long on its way: nothing runs under a lease that may be over.

#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "once/fixture.h"
#include "runtime/pause.h"
#include "support/run.h"

namespace semel::test {
namespace {

// A store whose answer to a claim takes its time after the claim was made, or whose first claim is made late: the
// caller is told at once that there is no answer.
class SlowStore : public Store {
 public:
  SlowStore(Store& store, Clock& clock, Millis delay) : store_(store), clock_(clock), delay_(delay) {}

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override {
    if (first_claim_late && !late_) {
      late_ = [this, key, fingerprint, terms] { return store_.claim(key, fingerprint, terms); };
      co_return fail(Code::unavailable, "no answer");
    }
    Result<Claim> answer = co_await store_.claim(std::move(key), fingerprint, terms);
    co_await runtime::sleep(clock_, delay_);
    co_return answer;
  }
  // The first claim arrives.
  Async<Claim> arrive() { return late_(); }

  bool first_claim_late = false;

  Async<void> renew(Key key, Fence fence, Millis lease) override { return store_.renew(std::move(key), fence, lease); }
  Async<void> complete(Key key, Fence fence, SharedResponse response) override {
    return store_.complete(std::move(key), fence, std::move(response));
  }
  Async<void> release(Key key, Fence fence) override { return store_.release(std::move(key), fence); }
  Async<std::size_t> sweep(std::size_t limit) override { return store_.sweep(limit); }

 private:
  Store& store_;
  Clock& clock_;
  const Millis delay_;
  std::function<Async<Claim>()> late_;
};

class LateGrant : public OnceTest {
 protected:
  // As start(), through a store that is slow by `delay` or whose first claim is made late.
  Slot start_slowly(Millis delay, Action action, Policy policy, bool first_claim_late = false) {
    slow_ = std::make_unique<SlowStore>(*store, clock, delay);
    slow_->first_claim_late = first_claim_late;
    slow_once_ = std::make_unique<Once>(*slow_, clock, 7);
    auto slot = std::make_shared<std::optional<Answer>>();
    boost::asio::co_spawn(context.get_executor(),
                          slow_once_->run(key_of(1), fingerprint_of(1), policy, std::move(action)),
                          [slot](const std::exception_ptr& error, Answer answer) {
                            if (error) std::rethrow_exception(error);
                            *slot = std::move(answer);
                          });
    settle();
    return slot;
  }

  SlowStore& slow() { return *slow_; }

  const Policy policy_{.lease = Millis{3'000}, .on_unknown = Policy::OnUnknown::retry};

 private:
  std::unique_ptr<SlowStore> slow_;
  std::unique_ptr<Once> slow_once_;
};

// The lease lapsed while the grant was on its way and another caller runs: the late one must not run beside it.
TEST_F(LateGrant, RunsNothingWhenTheLeaseIsOver) {
  Work late;
  const Slot late_slot = start_slowly(Millis{4'000}, late.action(), policy_);
  pass(Millis{3'500});
  Work other;
  const Slot other_slot = start(other.action(), policy_);
  ASSERT_EQ(other.runs(), 1);
  EXPECT_EQ(other.fence().number, 2U);

  pass(Millis{1'000});
  ASSERT_TRUE(late_slot->has_value());
  EXPECT_EQ(refused(**late_slot).problem.type, ProblemType::store_unavailable);
  EXPECT_EQ(late.runs(), 0);

  other.end(kept("done"));
  settle();
  ASSERT_TRUE(other_slot->has_value());
  EXPECT_TRUE(std::holds_alternative<Ran>(**other_slot));
}

// A grant that is late but alive is renewed before the action starts, so that the action has a whole lease.
TEST_F(LateGrant, RenewsBeforeItRuns) {
  Work work;
  const Slot slot = start_slowly(Millis{2'900}, work.action(), policy_);
  pass(Millis{2'900});
  ASSERT_EQ(work.runs(), 1);

  clock.advance(Millis{500});  // beyond the lease that the claim itself had; the first renewal is not due yet
  Work other;
  const Slot other_slot = start(other.action(), policy_);
  ASSERT_TRUE(other_slot->has_value());
  EXPECT_EQ(refused(**other_slot).problem.type, ProblemType::in_flight);
  EXPECT_EQ(other.runs(), 0);

  work.end(kept("done"));
  settle();
  ASSERT_TRUE(slot->has_value());
  EXPECT_EQ(ran(**slot).outcome.response->body, "done");
}

// A claim may be told of a grant that an earlier, lost one got long ago: what is left of that lease is not enough.
TEST_F(LateGrant, RenewsAGrantThatAnEarlierClaimGot) {
  Work first;
  const Slot first_slot = start(first.action(), policy_);
  Policy patient = policy_;
  patient.in_flight = Policy::InFlight::wait;
  Work work;
  const Slot slot = start_slowly(Millis{0}, work.action(), patient, true);
  pass(Millis{200});
  first.end({.verdict = Verdict::release, .response = nullptr});
  settle();
  const Result<Claim> late = run(context, slow().arrive());
  ASSERT_TRUE(late.has_value() && std::holds_alternative<Granted>(*late));

  pass(Millis{2'800});  // the waiter gives the first holder up, asks again, and is told of the grant from long ago
  ASSERT_EQ(work.runs(), 1);
  clock.advance(Millis{500});  // beyond the end of that lease
  Work other;
  start(other.action(), policy_);
  EXPECT_EQ(other.runs(), 0);

  work.end(kept("done"));
  settle();
  ASSERT_TRUE(slot->has_value());
  EXPECT_EQ(ran(**slot).outcome.response->body, "done");
}

}  // namespace
}  // namespace semel::test
