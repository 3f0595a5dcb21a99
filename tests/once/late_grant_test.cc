// A grant that was long on its way: nothing runs under a lease that may be over.

#include <memory>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "once/fixture.h"
#include "once/pause.h"

namespace semel::test {
namespace {

// A store whose answer to a claim takes its time after the claim was made.
class SlowStore : public Store {
 public:
  SlowStore(Store& store, Clock& clock, Millis delay) : store_(store), clock_(clock), delay_(delay) {}

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override {
    Result<Claim> answer = co_await store_.claim(std::move(key), fingerprint, terms);
    co_await sleep(clock_, delay_);
    co_return answer;
  }
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
};

class LateGrant : public OnceTest {
 protected:
  // As start(), through a store that is slow by `delay`.
  Slot start_slowly(Millis delay, Action action, Policy policy) {
    slow_ = std::make_unique<SlowStore>(*store, clock, delay);
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

  const Policy policy_{.lease = Millis{3'000}, .on_unknown = OnUnknown::retry};

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

}  // namespace
}  // namespace semel::test
