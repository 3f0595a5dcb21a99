// A store that was away when it should have been told: it hears later, as long as the lease can be alive.
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "once/fixture.h"
#include "support/faulty_store.h"

namespace semel::test {
namespace {

constexpr Fault away{.kind = FaultKind::refused};
constexpr Fault answer_lost{.kind = FaultKind::answer_lost};
constexpr Fault silent{.kind = FaultKind::request_lost, .delay = Millis{5'000}};

class Later : public OnceTest {
 protected:
  // Through a store with faults; the plain `call()` sees what they leave behind.
  Slot start_faulty(Action action) {
    auto slot = std::make_shared<std::optional<Answer>>();
    boost::asio::co_spawn(context.get_executor(),
                          faulty_once_->run(key_of(1), fingerprint_of(1), policy_, std::move(action)),
                          [slot](const std::exception_ptr& error, Answer answer) {
                            if (error) std::rethrow_exception(error);
                            *slot = std::move(answer);
                          });
    settle();
    return slot;
  }
  // The first call of this kind is applied, but its answer is lost; after that the store is away.
  void lose(StoreCall which) {
    faulty.follow([which, seen = false](StoreCall call) mutable {
      if (!seen && call == which) {
        seen = true;
        return answer_lost;
      }
      return seen ? away : Fault{};
    });
  }
  void heal() { faulty.follow({}); }

  const Policy policy_{.lease = Millis{30'000}};
  FaultyStore faulty{*store, clock, {}};

 private:
  std::unique_ptr<Once> faulty_once_ = std::make_unique<Once>(faulty, clock, 7);

 protected:
  void close() { faulty_once_.reset(); }
};

Action must_not_run() {
  return [](Fence) -> Task<Outcome> {
    ADD_FAILURE() << "ran";
    return give(kept("x"));
  };
}

// A claim was made, its answer was lost and the store went away: nothing was sent. Back again, it hears so.
TEST_F(Later, GivesBackAClaimWhoseAnswerWasLost) {
  lose(StoreCall::claim);
  const Slot slot = start_faulty(must_not_run());
  ASSERT_TRUE(slot->has_value());
  EXPECT_EQ(refused(**slot).problem.type, ProblemType::store_unavailable);
  pass(Millis{5'000});
  EXPECT_EQ(refused(call(must_not_run())).problem.type, ProblemType::in_flight) << "the store has the claim";

  heal();
  pass(Millis{2'000});
  EXPECT_EQ(ran(call(answering(kept("retried")))).outcome.response->body, "retried");
}

// The same for a key that was attempted before.
TEST_F(Later, GivesBackALaterClaim) {
  for (int i = 0; i < 3; ++i) call(answering({.verdict = Verdict::release, .response = response_of("busy")}));
  lose(StoreCall::claim);
  const Slot slot = start_faulty(must_not_run());
  EXPECT_EQ(refused(call(must_not_run())).problem.type, ProblemType::in_flight);
  heal();
  pass(Millis{2'000});
  EXPECT_EQ(ran(call(answering(kept("retried")))).fence.number, 5U);
  EXPECT_TRUE(slot->has_value());
}

// Its commit waits for a standby, say: every call of the store is answered meanwhile, but nobody sees the claim yet.
// When it appears within its lease, it is given back, also if the key was attempted before.
TEST_F(Later, GivesBackAClaimThatAppearsLate) {
  for (const Millis until : {Millis{1'000}, Millis{10'000}, Millis{25'000}}) {
    SCOPED_TRACE(until.count());
    const std::uint64_t before = ran(call(answering({.verdict = Verdict::release, .response = nullptr}))).fence.number;
    faulty.follow([&, first = true](StoreCall which) mutable {
      if (which != StoreCall::claim) return Fault{};
      return std::exchange(first, false) ? Fault{.kind = FaultKind::late, .delay = until} : away;
    });
    const Slot slot = start_faulty(must_not_run());
    ASSERT_TRUE(slot->has_value());
    EXPECT_EQ(refused(**slot).problem.type, ProblemType::store_unavailable);
    pass(until);
    EXPECT_EQ(refused(call(must_not_run())).problem.type, ProblemType::in_flight) << "the claim is there";
    pass(Millis{8'500});
    EXPECT_EQ(ran(call(answering({.verdict = Verdict::release, .response = nullptr}))).fence.number, before + 2);
    pass(Millis{30'000});
  }
}

// A new key, which most are, is free again within a second or so.
TEST_F(Later, GivesBackAFirstClaimThatAppearsLateAtOnce) {
  faulty.follow([first = true](StoreCall which) mutable {
    if (which != StoreCall::claim) return Fault{};
    return std::exchange(first, false) ? Fault{.kind = FaultKind::late, .delay = Millis{20'000}} : away;
  });
  const Slot slot = start_faulty(must_not_run());
  pass(Millis{21'500});
  EXPECT_EQ(ran(call(answering(kept("retried")))).fence.number, 2U);
  EXPECT_TRUE(slot->has_value());
}

// The last of its tries was the one that was made: its lease begins then, and it is given back until the end of that.
TEST_F(Later, GivesBackTheLastOfItsTries) {
  faulty.follow([claims = 0](StoreCall call) mutable {
    if (call != StoreCall::claim) return away;
    return ++claims < 3 ? silent : answer_lost;
  });
  const Slot slot = start_faulty(must_not_run());
  pass(Millis{33'000});
  ASSERT_TRUE(slot->has_value());
  EXPECT_EQ(refused(call(must_not_run())).problem.type, ProblemType::in_flight);
  heal();
  pass(Millis{2'000});
  EXPECT_EQ(ran(call(answering(kept("retried")))).fence.number, 2U);
}

// To go on costs little: three calls a second, on average.
TEST_F(Later, AsksForAClaimThatNeverAppearsNowAndThen) {
  faulty.follow([](StoreCall which) { return which == StoreCall::claim ? away : Fault{}; });
  const Slot slot = start_faulty(must_not_run());
  pass(Millis{32'000});
  EXPECT_TRUE(slot->has_value());
  EXPECT_GE(faulty.count(FaultKind::none), 60U);
  EXPECT_LE(faulty.count(FaultKind::none), 120U);
  EXPECT_EQ(clock.alarms_pending(), 0U);
}

// A claim that was never made is not made later: the key stays free all the time.
TEST_F(Later, ClaimsNothing) {
  faulty.follow([](StoreCall) { return away; });
  const Slot slot = start_faulty(must_not_run());
  ASSERT_TRUE(slot->has_value());
  heal();
  for (int i = 0; i < 20; ++i) {
    pass(Millis{100});
    const Answer answer = call(answering({.verdict = Verdict::release, .response = response_of("busy")}));
    EXPECT_TRUE(std::holds_alternative<Ran>(answer)) << i;
  }
}

// Every end runs into the time-out of the store. The caller is answered after the first, and does not wait for five of
// them; the store hears later what became of the key.
TEST_F(Later, DoesNotKeepTheCallerForSeveralTimeOuts) {
  faulty.follow([](StoreCall call) { return call == StoreCall::complete ? silent : Fault{}; });
  const Slot slot = start_faulty(answering(kept("paid")));
  pass(Millis{4'900});
  EXPECT_FALSE(slot->has_value());
  pass(Millis{300});
  ASSERT_TRUE(slot->has_value());
  EXPECT_EQ(refused(**slot).problem.type, ProblemType::outcome_unknown);
  heal();
  pass(Millis{10'000});
  EXPECT_TRUE(std::holds_alternative<Replayed>(call(must_not_run())));
}

// The same if another caller's release was lost.
TEST_F(Later, ReleasesWhatCouldNotBeReleased) {
  faulty.follow([](StoreCall call) { return call == StoreCall::release ? away : Fault{}; });
  const Slot slot = start_faulty(answering({.verdict = Verdict::release, .response = response_of("busy")}));
  pass(Millis{2'000});
  ASSERT_TRUE(slot->has_value());
  EXPECT_EQ(refused(call(must_not_run())).problem.type, ProblemType::in_flight);
  heal();
  pass(Millis{2'000});
  EXPECT_EQ(ran(call(answering(kept("retried")))).fence.number, 2U);
}

// An answer that could not be kept was withheld; when it can be kept after all, a retry gets it.
TEST_F(Later, KeepsAnAnswerThatCouldNotBeKept) {
  faulty.follow([](StoreCall call) { return call == StoreCall::complete ? away : Fault{}; });
  const Slot slot = start_faulty(answering(kept("charged")));
  pass(Millis{2'000});
  ASSERT_TRUE(slot->has_value());
  EXPECT_EQ(refused(**slot).problem.type, ProblemType::outcome_unknown);
  heal();
  pass(Millis{2'000});
  EXPECT_EQ(replayed(call(must_not_run())).response->body, "charged");
}

// It ends with the lease: the key is another's affair then. Nothing is left that would ring.
TEST_F(Later, StopsWhenTheLeaseIsOver) {
  lose(StoreCall::claim);
  const Slot slot = start_faulty(must_not_run());
  pass(Millis{32'000});
  EXPECT_EQ(clock.alarms_pending(), 0U);
  const std::uint64_t tries = faulty.count(FaultKind::refused);
  heal();
  pass(Millis{5'000});
  EXPECT_EQ(faulty.count(FaultKind::refused), tries);
  EXPECT_EQ(refused(call(must_not_run())).problem.type, ProblemType::outcome_unknown);
  EXPECT_TRUE(slot->has_value());
}

// It does not disturb the one who has the key now.
TEST_F(Later, LeavesAnotherHolderAlone) {
  faulty.follow([](StoreCall call) { return call == StoreCall::claim ? away : Fault{}; });
  const Slot slot = start_faulty(must_not_run());
  Work work;
  const Slot other = start(work.action());
  EXPECT_EQ(work.fence().number, 1U) << "the number that is tried first";
  heal();
  pass(Millis{25'000});
  EXPECT_EQ(refused(call(must_not_run())).problem.type, ProblemType::in_flight);
  work.end(kept("other's"));
  settle();
  EXPECT_EQ(ran(**other).outcome.response->body, "other's");
  EXPECT_TRUE(slot->has_value());
}

// A Once that is gone asks its store for nothing more.
TEST_F(Later, EndsWithItsOnce) {
  lose(StoreCall::claim);
  const Slot slot = start_faulty(must_not_run());
  pass(Millis{2'000});
  close();
  const std::uint64_t tries = faulty.count(FaultKind::refused);
  pass(Millis{5'000});
  EXPECT_EQ(faulty.count(FaultKind::refused), tries);
  EXPECT_EQ(clock.alarms_pending(), 0U);
  EXPECT_TRUE(slot->has_value());
}

}  // namespace
}  // namespace semel::test
