// The millisecond at which each answer of the state machine changes: lease_until and expires_at, one before, one after.

#include <variant>

#include <gtest/gtest.h>

#include "core/transition.h"
#include "core/transition_cases.h"

namespace semel::test {
namespace {

Record running_until(Time lease_until, Time expires_at) {
  Record record = *record_of(Stored::running);
  record.lease_until = lease_until;
  record.expires_at = expires_at;
  return record;
}

bool granted(const Record& stored, Time at, Terms::Lapsed lapsed = Terms::Lapsed::stands) {
  const core::ClaimStep step = core::step_claim(&stored, stored.key, stored.fingerprint, terms(lapsed), at);
  return std::holds_alternative<Granted>(step.answer);
}

// The lease is alive until the millisecond before lease_until and over from lease_until on.
TEST(TransitionTime, ClaimLapsesAtLeaseUntilExactly) {
  const Record stored = running_until(now, now + Millis{1'000});
  EXPECT_FALSE(granted(stored, now - tick, Terms::Lapsed::taken_over));
  EXPECT_TRUE(granted(stored, now, Terms::Lapsed::taken_over));
  EXPECT_TRUE(granted(stored, now + tick, Terms::Lapsed::taken_over));

  const core::ClaimStep before = core::step_claim(&stored, stored.key, stored.fingerprint, terms(), now - tick);
  EXPECT_EQ(std::get<Held>(before.answer).record.state, Record::State::running);
  EXPECT_EQ(std::get<Held>(before.answer).lease_left, tick);
  const core::ClaimStep at = core::step_claim(&stored, stored.key, stored.fingerprint, terms(), now);
  EXPECT_EQ(std::get<Held>(at.answer).record.state, Record::State::unknown);
  EXPECT_EQ(std::get<Held>(at.answer).lease_left, Millis{0});
}

// A holder may act in the last millisecond of its lease and not one later.
TEST(TransitionTime, HolderIsFencedFromLeaseUntilOn) {
  const Record stored = running_until(now, now + Millis{1'000});
  EXPECT_TRUE(core::step_renew(&stored, held_fence, Millis{5}, now - tick).has_value());
  EXPECT_TRUE(core::step_complete(&stored, held_fence, answer("x"), now - tick).has_value());
  EXPECT_TRUE(core::step_complete(&stored, held_fence, nullptr, now - tick).has_value());
  EXPECT_TRUE(core::step_release(&stored, held_fence, now - tick).has_value());
  for (const Time late : {now, now + tick}) {
    EXPECT_FALSE(core::step_renew(&stored, held_fence, Millis{5}, late).has_value());
    EXPECT_FALSE(core::step_complete(&stored, held_fence, answer("x"), late).has_value());
    EXPECT_FALSE(core::step_complete(&stored, held_fence, nullptr, late).has_value());
    EXPECT_FALSE(core::step_release(&stored, held_fence, late).has_value());
  }
}

// A record that has ended is there one millisecond before expires_at and absent at it (G8).
TEST(TransitionTime, EndedRecordsExpireAtExpiresAtExactly) {
  for (const Stored kind : {Stored::done, Stored::unknown, Stored::released}) {
    Record stored = *record_of(kind);
    stored.expires_at = now;
    stored.lease_until = now + Millis{500};  // of no meaning once the claim has ended
    EXPECT_FALSE(core::expired(stored, now - tick)) << name(kind);
    EXPECT_TRUE(core::expired(stored, now)) << name(kind);
    EXPECT_TRUE(core::expired(stored, now + tick)) << name(kind);
  }
}

// The fence goes on growing up to the last millisecond of a released record and begins anew with its expiry.
TEST(TransitionTime, FenceBeginsAnewAtExpiry) {
  Record stored = *record_of(Stored::released);
  stored.expires_at = now;
  const core::ClaimStep before = core::step_claim(&stored, stored.key, stored.fingerprint, terms(), now - tick);
  EXPECT_EQ(std::get<Granted>(before.answer).fence.number, held_fence.number + 1);
  const core::ClaimStep at = core::step_claim(&stored, stored.key, stored.fingerprint, terms(), now);
  EXPECT_EQ(std::get<Granted>(at.answer).fence.number, 1U);
}

// A running claim does not expire under a holder whose lease is alive: a second attempt would start beside it (G1).
TEST(TransitionTime, LiveLeaseOutlivesExpiry) {
  const Record stored = running_until(now, now - Millis{50});
  EXPECT_FALSE(core::expired(stored, now - Millis{50}));
  EXPECT_FALSE(core::expired(stored, now - tick));
  EXPECT_FALSE(granted(stored, now - tick, Terms::Lapsed::taken_over));
  EXPECT_TRUE(core::expired(stored, now));
  EXPECT_TRUE(granted(stored, now));
}

// A lapsed claim keeps the key as unknown until it expires, and expires at expires_at even if nobody told its outcome.
TEST(TransitionTime, LapsedClaimStandsUntilExpiry) {
  const Record stored = running_until(now - Millis{50}, now);
  EXPECT_FALSE(core::expired(stored, now - tick));
  EXPECT_FALSE(granted(stored, now - tick));
  EXPECT_TRUE(core::expired(stored, now));
  EXPECT_TRUE(granted(stored, now));
}

// A lease that is renewed past expires_at keeps the key; ending the claim then lets the record go at once.
TEST(TransitionTime, RenewedLeaseHoldsTheKeyPastExpiryUntilItEnds) {
  const Record stored = running_until(now + tick, now);
  const core::HolderStep renewed = core::step_renew(&stored, held_fence, Millis{100}, now);
  ASSERT_TRUE(renewed.has_value());
  const Record longer = renewed->value();
  EXPECT_EQ(longer.expires_at, now);
  EXPECT_FALSE(core::expired(longer, now + Millis{99}));
  EXPECT_TRUE(core::expired(longer, now + Millis{100}));

  const core::HolderStep completed = core::step_complete(&longer, held_fence, answer("late"), now + Millis{10});
  ASSERT_TRUE(completed.has_value());
  EXPECT_TRUE(core::expired(completed->value(), now + Millis{10}));
}

// Renewing counts from now, so a shorter lease than the one left is taken at its word.
TEST(TransitionTime, RenewalCountsFromNow) {
  const Record stored = running_until(now + Millis{1'000}, now + Millis{5'000});
  const core::HolderStep step = core::step_renew(&stored, held_fence, Millis{5}, now);
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->value().lease_until, now + Millis{5});
}

// Judging a record under another key would give one tenant another's claim: the process stops instead.
TEST(TransitionDeathTest, RecordOfAnotherKeyStopsTheProcess) {
  const Record stored = *record_of(Stored::running);
  EXPECT_DEATH((void)core::step_claim(&stored, key_of(2), stored.fingerprint, terms(), now), "under its own key");
}

}  // namespace
}  // namespace semel::test
