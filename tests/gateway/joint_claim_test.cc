// One action under several keys: who is claimed, what the action is told, and how all of them end together.
#include "gateway/joint_claim.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "once/fixture.h"
#include "policy/identify.h"
#include "support/faulty_store.h"
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
    return test::run(context, run_jointly(&once, &clock, events, &policy, ++company, std::move(action)));
  }

  std::optional<std::vector<bool>> ours;  // null if the action did not run
  Fence fence;
  std::uint64_t company = 0;
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

// A thousand events wait for the store as often as three do, not a thousand times.
TEST_F(JointClaimTest, ClaimsAndEndsThemTogether) {
  static constexpr Millis far{6};
  test::FaultyStore distant(*store, clock,
                            [](test::StoreCall) { return test::Fault{.kind = test::FaultKind::slow, .delay = far}; });
  Once there(distant, clock, 7);
  std::vector<policy::Identity> events(1'000, event(0));
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].key.id[1] = static_cast<std::uint8_t>(i);
    events[i].key.id[2] = static_cast<std::uint8_t>(i / 256);
  }
  const Policy policy;
  std::optional<JointAnswer> joint;
  JointAction action = [](JointGrant) { return test::give(kept("all")); };
  boost::asio::co_spawn(context, run_jointly(&there, &clock, events, &policy, 1, std::move(action)),
                        [&joint](const std::exception_ptr&, JointAnswer answer) { joint = std::move(answer); });
  settle();
  const Time began = clock.now();
  while (!joint && clock.now() < began + Millis{1'000}) {
    clock.advance(Millis{1});
    settle();
  }
  ASSERT_TRUE(joint);
  EXPECT_EQ(test::ran(joint->answer).outcome.response->body, "all");
  EXPECT_LE(clock.now() - began, 4 * far);  // the first claim, the other claims, the ends
}

// Of two deliveries that share some events and come at the same time, one runs; nothing runs twice, nothing hangs.
TEST_F(JointClaimTest, OneOfTwoThatShareEventsRuns) {
  for (const Policy::InFlight in_flight : {Policy::InFlight::conflict, Policy::InFlight::wait}) {
    for (std::uint8_t round = 0; round < 8; ++round) {
      const auto number = static_cast<std::uint8_t>(round * 10 + (in_flight == Policy::InFlight::wait ? 100 : 0));
      const auto nth = [number](int i) { return event(static_cast<std::uint8_t>(number + i)); };
      const std::vector one{nth(1), nth(2), nth(3)};
      const std::vector two{nth(2), nth(3), nth(4)};
      // The claims of the two are mixed in another way in each round.
      test::FaultyStore store_between(*store, clock, [calls = 0, round](test::StoreCall) mutable {
        return test::Fault{.kind = test::FaultKind::slow, .delay = Millis{((calls++ >> (round % 4)) + round) % 3}};
      });
      Once mixed(store_between, clock, 7U + round);
      const Policy policy{.in_flight = in_flight};
      std::vector<int> runs(5, 0);
      int ended = 0;
      int ran = 0;
      const auto begin = [&](const std::vector<policy::Identity>& events, int first) {
        JointAction action = [&runs, first](JointGrant grant) {
          for (std::size_t i = 0; i < grant.ours.size(); ++i) {
            if (grant.ours[i]) ++runs[static_cast<std::size_t>(first) + i];
          }
          return test::give(kept("x"));
        };
        boost::asio::co_spawn(context, run_jointly(&mixed, &clock, events, &policy, ++company, std::move(action)),
                              [&](const std::exception_ptr&, const JointAnswer& answer) {
                                ++ended;
                                if (std::holds_alternative<Ran>(answer.answer)) ++ran;
                              });
      };
      begin(one, 1);
      begin(two, 2);
      settle();
      for (int i = 0; i < 200 && ended < 2; ++i) {
        clock.advance(Millis{1});
        settle();
      }
      ASSERT_EQ(ended, 2) << "round " << int{round};
      EXPECT_GE(ran, 1) << "round " << int{round};
      for (const int count : runs) EXPECT_LE(count, 1) << "round " << int{round};
    }
  }
}

// Events of one object that come together run together; one that is older than what was done is left out.
TEST_F(JointClaimTest, KeepsTheOrderOfAnObject) {
  const auto placed = [](std::uint8_t number, std::string stamp) {
    policy::Identity identity = event(number);
    identity.order = std::make_shared<const Order>(Order{.object = key_of(200), .stamp = std::move(stamp)});
    return identity;
  };
  run({placed(1, "1"), placed(2, "2"), placed(3, "3")}, kept("all"));
  EXPECT_EQ(ours, (std::vector<bool>{true, true, true}));
  const JointAnswer late = run({placed(3, "3"), placed(4, "0"), placed(5, "4")}, kept("rest"));
  EXPECT_EQ(ours, (std::vector<bool>{false, false, true}));
  EXPECT_EQ(late.superseded, 1U);
  const JointAnswer old = run({placed(6, "0"), placed(7, "1")}, kept("x"));
  EXPECT_TRUE(std::holds_alternative<Superseded>(old.answer));
  EXPECT_EQ(old.superseded, 2U);
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
