// once() on the memory store: each way a call can end, as its callers see it.
#include <stdexcept>
#include <vector>

#include "once/fixture.h"

namespace semel::test {
namespace {

constexpr Policy waiting{.in_flight = Policy::InFlight::wait};
constexpr Policy retrying{.on_unknown = Policy::OnUnknown::retry};
constexpr Policy probing{.on_unknown = Policy::OnUnknown::probe};

Action must_not_run() {
  return [](Fence) -> Task<Outcome> {
    ADD_FAILURE() << "ran a second time";
    return give(kept("second"));
  };
}

// The first caller runs the action, the next ones get its very answer.
TEST_F(OnceTest, RunsOnceThenReplays) {
  const Answer first = call(answering(kept("charged")));
  EXPECT_EQ(ran(first).outcome.response->body, "charged");
  EXPECT_EQ(ran(first).fence.number, 1U);

  const Answer second = call(must_not_run());
  EXPECT_EQ(*replayed(second).response, *ran(first).outcome.response);
  EXPECT_EQ(replayed(second).expires_at, ran(first).expires_at);
}

// Of many callers at once one runs; with `wait` all get the same answer without any time passing.
TEST_F(OnceTest, ManyConcurrentCallersGetOneAnswer) {
  Work work;
  std::vector<Slot> slots;
  for (int i = 0; i < 64; ++i) slots.push_back(start(work.action(), waiting));
  EXPECT_EQ(work.runs(), 1);

  const Time before = clock.now();
  work.end(kept("one"));
  settle();
  int replays = 0;
  for (const Slot& slot : slots) {
    ASSERT_TRUE(slot->has_value());
    if (std::holds_alternative<Replayed>(**slot)) ++replays;
  }
  EXPECT_EQ(replays, 63);
  EXPECT_EQ(work.runs(), 1);
  EXPECT_EQ(clock.now(), before);
}

// While the first runs, a duplicate is told so and when to come back.
TEST_F(OnceTest, TellsThatTheFirstStillRuns) {
  Work work;
  const Slot first = start(work.action());
  const Answer second = call(must_not_run());
  EXPECT_EQ(refused(second).problem.type, ProblemType::in_flight);
  EXPECT_EQ(refused(second).problem.status, 409);
  EXPECT_GE(refused(second).retry_after, Millis{1'000});
  work.end(kept("x"));
  settle();
  EXPECT_TRUE(std::holds_alternative<Ran>(**first));
}

// Another request under the same key is refused, whether the first still runs or has ended (G4).
TEST_F(OnceTest, RefusesAReusedKeyBeforeAnythingElse) {
  Work work;
  const Slot first = start(work.action());
  EXPECT_EQ(refused(call(must_not_run(), {}, 1, 2)).problem.type, ProblemType::key_reused);
  EXPECT_EQ(refused(call(must_not_run(), waiting, 1, 2)).problem.type, ProblemType::key_reused);
  work.end(kept("x"));
  settle();
  EXPECT_EQ(refused(call(must_not_run(), {}, 1, 2)).problem.status, 422);
}

// An action that had no effect leaves the key free, and the next attempt carries the next fence.
TEST_F(OnceTest, RunsAgainAfterRelease) {
  const Answer first = call(answering({.verdict = Verdict::release, .response = response_of("try later")}));
  EXPECT_EQ(ran(first).outcome.response->body, "try later");
  const Answer second = call(answering(kept("done")));
  EXPECT_EQ(ran(second).fence.number, 2U);
}

// An action that takes far longer than its lease keeps its claim, because the lease is renewed.
TEST_F(OnceTest, RenewsTheLeaseWhileTheActionRuns) {
  Work work;
  const Slot first = start(work.action());
  pass(Millis{150'000});
  EXPECT_EQ(refused(call(must_not_run(), retrying)).problem.type, ProblemType::in_flight);
  work.end(kept("slow"));
  settle();
  EXPECT_EQ(ran(**first).outcome.response->body, "slow");
  EXPECT_EQ(clock.alarms_pending(), 0U);
}

// With `hold` an unknown outcome stays: the first caller hears 502, later ones 409, nothing runs again.
TEST_F(OnceTest, HoldsAnUnknownOutcome) {
  const Answer first = call(answering({.verdict = Verdict::unknown, .response = nullptr}));
  EXPECT_EQ(refused(first).problem.type, ProblemType::outcome_unknown);
  EXPECT_EQ(refused(first).problem.status, 502);
  const Answer second = call(must_not_run());
  EXPECT_EQ(refused(second).problem.status, 409);
  EXPECT_EQ(refused(second).problem.retry, Problem::Retry::never);
}

// With `retry` the next request takes an unknown key over.
TEST_F(OnceTest, RetriesAnUnknownOutcome) {
  const Answer first = call(answering({.verdict = Verdict::unknown, .response = nullptr}), retrying);
  EXPECT_EQ(refused(first).problem.retry, Problem::Retry::same_key);
  const Answer second = call(answering(kept("again")), retrying);
  EXPECT_EQ(ran(second).fence.number, 2U);
}

// An exception from the action may come after its effect: unknown, never released.
TEST_F(OnceTest, TreatsAnExceptionAsUnknown) {
  Action throwing = [](Fence) -> Task<Outcome> { throw std::runtime_error("lost"); };
  EXPECT_EQ(refused(call(std::move(throwing))).problem.type, ProblemType::outcome_unknown);
  EXPECT_EQ(refused(call(must_not_run())).problem.type, ProblemType::outcome_unknown);
}

// A probe that finds the effect makes its answer the answer of the key; the action does not run.
TEST_F(OnceTest, AdoptsWhatTheProbeFound) {
  call(answering({.verdict = Verdict::unknown, .response = nullptr}), probing);
  const Answer second = call(must_not_run(), probing, 1, 1, [] { return give(kept("found")); });
  EXPECT_EQ(replayed(second).response->body, "found");
  EXPECT_EQ(replayed(call(must_not_run(), probing)).response->body, "found");
}

// A probe that finds nothing lets the action run under the next fence; one that cannot tell changes nothing.
TEST_F(OnceTest, RunsWhenTheProbeFoundNothing) {
  call(answering({.verdict = Verdict::unknown, .response = nullptr}), probing);
  const Answer unsure = call(must_not_run(), probing, 1, 1, [] { return give(Outcome{}); });
  EXPECT_EQ(refused(unsure).problem.retry, Problem::Retry::same_key);
  Probe absent = [] { return give({.verdict = Verdict::release, .response = nullptr}); };
  const Answer second = call(answering(kept("now")), probing, 1, 1, std::move(absent));
  EXPECT_EQ(ran(second).fence.number, 2U);
}

// A verdict about one lost attempt says nothing of a later one: while the probe was out, another caller took over and
// was lost too, so the attempt must be probed again.
TEST_F(OnceTest, ProbesAgainWhenAnotherAttemptWasLostMeanwhile) {
  call(answering({.verdict = Verdict::unknown, .response = nullptr}), probing);
  Work asking;
  int probes = 0;
  Probe probe = [&]() -> Task<Outcome> {
    if (++probes == 1) return asking.action()({});
    return give(kept("the second took effect"));
  };
  const Slot slow = start(must_not_run(), probing, 1, 1, std::move(probe));
  call(answering({.verdict = Verdict::unknown, .response = nullptr}), retrying);  // fence 2, lost as well
  asking.end({.verdict = Verdict::release, .response = nullptr});
  settle();
  EXPECT_EQ(probes, 2);
  EXPECT_EQ(replayed(**slow).response->body, "the second took effect");
}

// A holder that lost its lease (here: the store did not hear of it for too long) is told so, and its result is not
// kept.
TEST_F(OnceTest, DiscardsTheResultOfAHolderThatLostItsLease) {
  Work work;
  const Slot first = start(work.action(), retrying);
  clock.advance(Millis{30'000});  // nothing ran meanwhile: the process was asleep
  const Answer second = call(answering(kept("second")), retrying);
  EXPECT_EQ(ran(second).fence.number, 2U);
  work.end(kept("first, late"));
  settle();
  EXPECT_EQ(refused(**first).problem.type, ProblemType::outcome_unknown);
  EXPECT_EQ(replayed(call(must_not_run())).response->body, "second");
}

}  // namespace
}  // namespace semel::test
