// One action under several keys: who is claimed, what the action is told, and how all of them end together.
#include "gateway/joint_claim.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "once/fixture.h"
#include "policy/identify.h"
#include "support/run.h"
#include <semel/async.h>
#include <semel/once.h>

namespace semel::gateway {
namespace {

using test::fingerprint_of;
using test::kept;
using test::key_of;
using test::OnceTest;
using test::Work;

policy::Identity event(std::uint8_t number) {
  return {.key = key_of(number), .fingerprint = fingerprint_of(number), .key_text = {}};
}

class JointClaimTest : public OnceTest {
 protected:
  // Runs to its end; what the action was told is in `ours` and `fence`.
  JointAnswer run(const std::vector<policy::Identity>& events, const Outcome& outcome, const Policy& policy = {}) {
    ours.reset();
    JointAction action = [this, &outcome](JointGrant grant) {
      ours.emplace(grant.ours.begin(), grant.ours.end());
      fence = grant.fence;
      return test::give(outcome);
    };
    return test::run(context, run_jointly(&once, events, &policy, std::move(action), {}));
  }

  std::optional<std::vector<bool>> ours;  // null if the action did not run
  Fence fence;
};

// Every event is the action's own, and each is replayed with its answer afterwards.
TEST_F(JointClaimTest, RunsOnceForAllEvents) {
  const std::vector events{event(1), event(2), event(3)};
  const JointAnswer first = run(events, kept("done"));
  EXPECT_EQ(ours, (std::vector<bool>{true, true, true}));
  EXPECT_EQ(test::ran(first.answer).outcome.response->body, "done");

  const JointAnswer again = run(events, kept("twice"));
  EXPECT_FALSE(ours);
  EXPECT_EQ(test::replayed(again.answer).response->body, "done");
  for (std::uint8_t number = 1; number <= 3; ++number) {
    EXPECT_TRUE(std::holds_alternative<Replayed>(call(test::answering(kept("x")), {}, number, number)));
  }
}

// Events that have been handled are left out; the rest run.
TEST_F(JointClaimTest, LeavesOutWhatWasHandled) {
  run({event(2)}, kept("before"));
  const JointAnswer joint = run({event(1), event(2), event(3)}, kept("rest"));
  EXPECT_EQ(ours, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(test::ran(joint.answer).outcome.response->body, "rest");
  EXPECT_EQ(test::replayed(run({event(2)}, kept("x")).answer).response->body, "before");
}

// If one event runs elsewhere, nothing runs and the others are free at once.
TEST_F(JointClaimTest, GivesBackWhatItHeldWhenOneIsTaken) {
  Work elsewhere;
  const Slot slot = start(elsewhere.action(), {}, 3, 3);
  const JointAnswer joint = run({event(1), event(2), event(3)}, kept("x"));
  EXPECT_FALSE(ours);
  EXPECT_EQ(test::refused(joint.answer).problem.type, ProblemType::in_flight);
  run({event(1)}, kept("one"));
  EXPECT_TRUE(ours);
  run({event(2)}, kept("two"));
  EXPECT_TRUE(ours);
  elsewhere.end(kept("three"));
  settle();
  EXPECT_TRUE(slot->has_value());
}

// An event under whose key another one has run is refused, and takes the others with it.
TEST_F(JointClaimTest, RefusesAReusedKey) {
  run({event(2)}, kept("before"));
  policy::Identity other = event(2);
  other.fingerprint = fingerprint_of(9);
  const JointAnswer joint = run({event(1), other}, kept("x"));
  EXPECT_FALSE(ours);
  EXPECT_EQ(test::refused(joint.answer).problem.type, ProblemType::key_reused);
}

// Released, every event is free again, with a newer fence each; the action hears of the newest.
TEST_F(JointClaimTest, ReleasesAllOfThem) {
  const Outcome released{.verdict = Verdict::release, .response = test::response_of("later")};
  run({event(2)}, released);
  const JointAnswer first = run({event(1), event(2), event(3)}, released);
  EXPECT_EQ(test::ran(first.answer).outcome.verdict, Verdict::release);
  EXPECT_EQ(fence.number, 2U);
  run({event(3), event(1)}, kept("now"));
  EXPECT_EQ(ours, (std::vector<bool>{true, true}));
  EXPECT_EQ(fence.number, 2U);
}

// An unknown outcome is unknown for every event.
TEST_F(JointClaimTest, IsUnknownForAllOfThem) {
  run({event(1), event(2)}, {.verdict = Verdict::unknown, .response = test::response_of("")});
  EXPECT_EQ(test::refused(run({event(1)}, kept("x")).answer).problem.type, ProblemType::outcome_unknown);
  EXPECT_EQ(test::refused(run({event(2)}, kept("x")).answer).problem.type, ProblemType::outcome_unknown);
}

// One event, which is what every request is: the answer of once() itself.
TEST_F(JointClaimTest, IsOnceForOneEvent) {
  const JointAnswer first = run({event(1)}, kept("only"));
  EXPECT_EQ(test::ran(first.answer).fence.number, 1U);
  EXPECT_EQ(fence.owner, test::ran(first.answer).fence.owner);
  const JointAnswer again = run({event(1)}, kept("x"));
  EXPECT_EQ(test::replayed(again.answer).fence.number, 1U);
  EXPECT_EQ(test::replayed(again.answer).expires_at, test::ran(first.answer).expires_at);
}

}  // namespace
}  // namespace semel::gateway
