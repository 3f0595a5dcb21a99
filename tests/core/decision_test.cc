// decide(), one test for each row of the table in decision.h, and the order of the rows.

#include "core/decision.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

namespace semel::core {
namespace {

constexpr Time expiry{Millis{9'000'000}};
constexpr Fence fence{.number = 4, .owner = 44};
constexpr auto every_in_flight = std::array{Policy::InFlight::conflict, Policy::InFlight::wait};
constexpr auto every_on_unknown =
    std::array{Policy::OnUnknown::hold, Policy::OnUnknown::retry, Policy::OnUnknown::probe};

Fingerprint fingerprint_of(std::uint8_t first) {
  Fingerprint fingerprint;
  fingerprint.digest[0] = first;
  return fingerprint;
}

const Fingerprint mine = fingerprint_of(1);
const Fingerprint other = fingerprint_of(2);

Held held_as(Record::State state, Millis lease_left = Millis{0}) {
  Held held;
  held.record.state = state;
  held.record.fence = fence;
  held.record.fingerprint = mine;
  held.record.expires_at = expiry;
  held.lease_left = lease_left;
  if (state == Record::State::done)
    held.record.response = std::make_shared<const Response>(Response{.status = 201, .fields = {}, .body = "kept"});
  return held;
}

Policy policy_of(Policy::InFlight in_flight, Policy::OnUnknown on_unknown) {
  Policy policy;
  policy.in_flight = in_flight;
  policy.on_unknown = on_unknown;
  return policy;
}

// Every policy there is, so that a row that does not depend on it is shown not to.
template <class Check>
void for_every_policy(Check&& check) {
  for (const Policy::InFlight in_flight : every_in_flight) {
    for (const Policy::OnUnknown on_unknown : every_on_unknown) check(policy_of(in_flight, on_unknown));
  }
}

void expect_rejected(const Decision& decision, ProblemType type) {
  ASSERT_TRUE(std::holds_alternative<Reject>(decision));
  EXPECT_EQ(std::get<Reject>(decision).problem.type, type);
}

// Whoever was granted the key runs, under every policy.
TEST(Decision, RunsWhenGranted) {
  for_every_policy([](const Policy& policy) {
    const Decision decision = decide(Granted{.fence = fence, .expires_at = expiry}, mine, policy);
    ASSERT_TRUE(std::holds_alternative<semel::core::Run>(decision));
    EXPECT_EQ(std::get<semel::core::Run>(decision).fence, fence);
    EXPECT_EQ(std::get<semel::core::Run>(decision).expires_at, expiry);
  });
}

// A finished request is replayed to whoever sends it again, under every policy.
TEST(Decision, ReplaysWhenDoneAndFingerprintMatches) {
  for_every_policy([](const Policy& policy) {
    const Held held = held_as(Record::State::done);
    const Decision decision = decide(held, mine, policy);
    ASSERT_TRUE(std::holds_alternative<Replay>(decision));
    EXPECT_EQ(std::get<Replay>(decision).response, held.record.response);
    EXPECT_EQ(std::get<Replay>(decision).fence, fence);
    EXPECT_EQ(std::get<Replay>(decision).expires_at, expiry);
  });
}

// A request that still runs is a conflict where the policy says so, whatever it says of unknown outcomes.
TEST(Decision, RejectsInFlightWhenRunningUnderConflict) {
  for (const Policy::OnUnknown on_unknown : every_on_unknown) {
    const Decision decision =
        decide(held_as(Record::State::running, Millis{3'000}), mine, policy_of(Policy::InFlight::conflict, on_unknown));
    expect_rejected(decision, ProblemType::in_flight);
    EXPECT_EQ(std::get<Reject>(decision).problem.status, 409);
    EXPECT_EQ(std::get<Reject>(decision).problem.retry, Problem::Retry::same_key);
  }
}

// Whoever is sent away comes back when the attempt has had as long again as it had, or its lease is over, but in no
// less than a second and no more than five.
TEST(Decision, AdvisesARetryByHowLongTheAttemptHasRun) {
  struct Row {
    Millis running_for;
    Millis lease_left;
    Millis expected;
  };
  constexpr Millis lease{30'000};
  constexpr Row rows[] = {{Millis{0}, lease, Millis{1'000}},
                          {Millis{999}, lease, Millis{1'000}},
                          {Millis{1'001}, lease, Millis{1'001}},
                          {Millis{3'210}, lease, Millis{3'210}},
                          {Millis{5'001}, lease, Millis{5'000}},
                          {Millis{86'400'000}, lease, Millis{5'000}},
                          {Millis{9'000}, Millis{1}, Millis{1'000}},
                          {Millis{9'000}, Millis{2'500}, Millis{2'500}},
                          {Millis{9'000}, Millis{6'000}, Millis{5'000}}};
  for (const auto& [running_for, lease_left, expected] : rows) {
    Held held = held_as(Record::State::running, lease_left);
    held.record.lease_until = held.record.claimed_at + running_for + lease_left;
    const Decision decision = decide(held, mine, policy_of(Policy::InFlight::conflict, Policy::OnUnknown::hold));
    expect_rejected(decision, ProblemType::in_flight);
    EXPECT_EQ(std::get<Reject>(decision).retry_after, expected) << running_for.count() << ' ' << lease_left.count();
  }
}

// A request that still runs is waited for where the policy says so, no longer than its holder can live.
TEST(Decision, WaitsWhenRunningUnderWait) {
  for (const Policy::OnUnknown on_unknown : every_on_unknown) {
    const Decision decision =
        decide(held_as(Record::State::running, Millis{3'000}), mine, policy_of(Policy::InFlight::wait, on_unknown));
    ASSERT_TRUE(std::holds_alternative<Wait>(decision));
    EXPECT_EQ(std::get<Wait>(decision).lease_left, Millis{3'000});
  }
}

// Under hold an unknown outcome is told and never retried: there is no point in coming back by oneself.
TEST(Decision, RejectsOutcomeUnknownForGoodUnderHold) {
  for (const Policy::InFlight in_flight : every_in_flight) {
    const Decision decision =
        decide(held_as(Record::State::unknown), mine, policy_of(in_flight, Policy::OnUnknown::hold));
    expect_rejected(decision, ProblemType::outcome_unknown);
    EXPECT_EQ(std::get<Reject>(decision).problem.status, 409);
    EXPECT_EQ(std::get<Reject>(decision).problem.retry, Problem::Retry::never);
    EXPECT_EQ(std::get<Reject>(decision).retry_after, Millis{0});
  }
}

// Under retry an unknown outcome that stood is told with the advice to come back: the next claim may take it over.
TEST(Decision, RejectsOutcomeUnknownForNowUnderRetry) {
  for (const Policy::InFlight in_flight : every_in_flight) {
    const Decision decision =
        decide(held_as(Record::State::unknown), mine, policy_of(in_flight, Policy::OnUnknown::retry));
    expect_rejected(decision, ProblemType::outcome_unknown);
    EXPECT_EQ(std::get<Reject>(decision).problem.status, 409);
    EXPECT_EQ(std::get<Reject>(decision).problem.retry, Problem::Retry::same_key);
    EXPECT_GE(std::get<Reject>(decision).retry_after, Millis{1'000});
  }
}

// Under probe an unknown outcome is asked about, and the question names the attempt that it is about.
TEST(Decision, AsksWhenUnknownUnderProbe) {
  for (const Policy::InFlight in_flight : every_in_flight) {
    const Decision decision =
        decide(held_as(Record::State::unknown), mine, policy_of(in_flight, Policy::OnUnknown::probe));
    ASSERT_TRUE(std::holds_alternative<Ask>(decision));
    EXPECT_EQ(std::get<Ask>(decision).fence, fence);
  }
}

// Another request under a used key is refused before anything else is looked at: it neither replays, waits nor asks
// (G4).
TEST(Decision, RejectsKeyReusedBeforeEverythingElse) {
  for (const Record::State state : {Record::State::done, Record::State::running, Record::State::unknown}) {
    for_every_policy([&](const Policy& policy) {
      const Decision decision = decide(held_as(state, Millis{3'000}), other, policy);
      expect_rejected(decision, ProblemType::key_reused);
      EXPECT_EQ(std::get<Reject>(decision).problem.status, 422);
      EXPECT_EQ(std::get<Reject>(decision).problem.retry, Problem::Retry::new_key);
      EXPECT_EQ(std::get<Reject>(decision).retry_after, Millis{0});
    });
  }
}

// Fingerprints are compared in every byte.
TEST(Decision, ComparesEveryByteOfTheFingerprint) {
  for (std::size_t at = 0; at < mine.digest.size(); ++at) {
    Fingerprint nearly = mine;
    nearly.digest[at] ^= 0x80U;
    expect_rejected(decide(held_as(Record::State::done), nearly, {}), ProblemType::key_reused);
  }
}

// Reported to the owner that released it, who comes late: its own attempt is over, and another one may have the key.
TEST(Decision, ClaimAfterItsOwnReleaseComesAgain) {
  const Decision decision = decide(held_as(Record::State::released), mine, {});
  ASSERT_TRUE(std::holds_alternative<Reject>(decision));
  EXPECT_EQ(std::get<Reject>(decision).problem.type, ProblemType::in_flight);
}

// A store that reports an object as a key breaks its contract; going on would be guessing.
TEST(DecisionDeathTest, StopsWhenAnObjectIsReported) {
  EXPECT_DEATH((void)decide(held_as(Record::State::object), mine, {}), "an object is no key");
}

// Only retry lets the store take a claim of unknown outcome over; lease, ttl and owner are passed on as they are.
TEST(TermsOfPolicy, TakeOverOnlyUnderRetry) {
  for_every_policy([](const Policy& given) {
    Policy policy = given;
    policy.lease = Millis{123};
    policy.ttl = Millis{456};
    const Terms terms = terms_of(policy, 789);
    EXPECT_EQ(terms.lease, Millis{123});
    EXPECT_EQ(terms.ttl, Millis{456});
    EXPECT_EQ(terms.owner, 789U);
    EXPECT_EQ(terms.only_over, std::nullopt);
    EXPECT_EQ(terms.lapsed,
              policy.on_unknown == Policy::OnUnknown::retry ? Terms::Lapsed::taken_over : Terms::Lapsed::stands);
  });
}

}  // namespace
}  // namespace semel::core
