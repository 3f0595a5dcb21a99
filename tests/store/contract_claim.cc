// Who gets a key, and what the others are told.

#include <cstdint>
#include <variant>

#include <gtest/gtest.h>

#include "store/contract.h"

namespace semel::test {
namespace {

// A free key is granted, with the first fence of the claimer who asked.
TEST_P(StoreContract, GrantsAFreeKey) {
  const Key key = fresh_key();
  const Terms mine = terms();
  const Granted granted = take(key, mine);
  EXPECT_EQ(granted.fence, (Fence{.number = 1, .owner = mine.owner}));
}

// A lease or a ttl that is nothing, negative or beyond all reason is refused, and the key stays free.
TEST_P(StoreContract, RefusesTermsThatMakeNoSense) {
  const Key key = fresh_key();
  for (const Millis span : {Millis{0}, Millis{-1}, Millis::min(), span_max + Millis{1}, Millis::max()}) {
    Terms odd_lease = terms();
    odd_lease.lease = span;
    EXPECT_EQ(said(claim(key, odd_lease)), "invalid") << span.count();
    Terms odd_ttl = terms();
    odd_ttl.ttl = span;
    EXPECT_EQ(said(claim(key, odd_ttl)), "invalid") << span.count();
  }
  Terms longest = terms();
  longest.lease = longest.ttl = span_max;
  const Granted granted = take(key, longest);
  EXPECT_EQ(granted.fence.number, 1U);
  for (const Millis span : {Millis{0}, Millis{-1}, Millis::max()}) {
    EXPECT_EQ(said(renew(key, granted.fence, span)), "invalid") << span.count();
  }
  EXPECT_EQ(look(key).record.fence, granted.fence);
}

// The loser learns everything about the holder, and nothing of its own claim is kept.
TEST_P(StoreContract, TellsWhoHoldsARunningKey) {
  const Key key = fresh_key();
  const Terms mine = terms();
  const Granted granted = take(key, mine);

  const Held held = look(key);
  EXPECT_EQ(held.record.key, key);
  EXPECT_EQ(held.record.key.scope, key.scope);
  EXPECT_EQ(held.record.key.space, key.space);
  EXPECT_EQ(held.record.state, Record::State::running);
  EXPECT_EQ(held.record.fence, granted.fence);
  EXPECT_EQ(held.record.fingerprint, fingerprint_of(1));
  EXPECT_EQ(held.record.expires_at, granted.expires_at);
  EXPECT_EQ(held.record.lease_until - held.record.claimed_at, mine.lease);
  EXPECT_EQ(held.record.expires_at - held.record.claimed_at, mine.ttl);
  EXPECT_EQ(held.record.response, nullptr);
  EXPECT_GT(held.lease_left, Millis{0});
  EXPECT_LE(held.lease_left, mine.lease);
  EXPECT_EQ(look(key).record, held.record);
}

// A store holds no policy: whoever asks, and with whatever request, is told of the holder and its fingerprint.
TEST_P(StoreContract, TellsTheHoldersFingerprintWhoeverAsks) {
  const Key key = fresh_key();
  const Granted granted = take(key);
  const Result<Claim> same = claim(key, terms(), fingerprint_of(1));
  const Result<Claim> other = claim(key, terms(), fingerprint_of(2));
  ASSERT_EQ(said(same), "ok");
  ASSERT_EQ(said(other), "ok");
  EXPECT_EQ(std::get<Held>(*same).record, std::get<Held>(*other).record);
  EXPECT_EQ(std::get<Held>(*other).record.fence, granted.fence);
  EXPECT_EQ(std::get<Held>(*other).record.fingerprint, fingerprint_of(1));
}

// A claim whose answer was lost is repeated with the same owner and gets the same fence, as often as it asks.
TEST_P(StoreContract, GivesTheSameFenceToTheSameOwner) {
  const Key key = fresh_key();
  const Terms mine = terms();
  const Granted first = take(key, mine);
  for (int again = 0; again < 3; ++again) {
    const Granted repeated = take(key, mine);
    EXPECT_EQ(repeated.fence, first.fence);
    EXPECT_EQ(repeated.expires_at, first.expires_at);
  }
  EXPECT_EQ(said(complete(key, first.fence, answer_of("one"))), "ok");
}

// Repeating a claim after it has ended does not start a second attempt, whoever asks.
TEST_P(StoreContract, HoldsAnEndedKeyAgainstItsOwnOwner) {
  const Key done = fresh_key();
  const Terms mine = terms();
  EXPECT_EQ(said(complete(done, take(done, mine).fence, answer_of("one"))), "ok");
  const Result<Claim> after_done = claim(done, mine);
  ASSERT_EQ(said(after_done), "ok");
  ASSERT_TRUE(std::holds_alternative<Held>(*after_done));
  EXPECT_EQ(std::get<Held>(*after_done).record.state, Record::State::done);

  const Key unknown = fresh_key();
  const Terms other = terms();
  EXPECT_EQ(said(complete(unknown, take(unknown, other).fence, nullptr)), "ok");
  const Result<Claim> after_unknown = claim(unknown, other);
  ASSERT_EQ(said(after_unknown), "ok");
  ASSERT_TRUE(std::holds_alternative<Held>(*after_unknown));
  EXPECT_EQ(std::get<Held>(*after_unknown).record.state, Record::State::unknown);
}

// A completed key is held with the response, and no policy takes it over.
TEST_P(StoreContract, HoldsADoneKeyUnderEveryPolicy) {
  const Key key = fresh_key();
  const Granted granted = take(key);
  ASSERT_EQ(said(complete(key, granted.fence, answer_of("kept"))), "ok");

  for (const Terms::Lapsed lapsed : {Terms::Lapsed::stands, Terms::Lapsed::taken_over}) {
    const Result<Claim> answer = claim(key, terms(lapsed));
    ASSERT_EQ(said(answer), "ok");
    ASSERT_TRUE(std::holds_alternative<Held>(*answer));
    const Held& held = std::get<Held>(*answer);
    EXPECT_EQ(held.record.state, Record::State::done);
    EXPECT_EQ(held.record.fence, granted.fence);
    EXPECT_EQ(held.record.expires_at, granted.expires_at);
    EXPECT_EQ(held.lease_left, Millis{0});
    ASSERT_NE(held.record.response, nullptr);
    EXPECT_EQ(*held.record.response, *answer_of("kept"));
  }
}

// An unknown outcome keeps the key from a claim that lets it stand, and gives way to one that takes it over.
TEST_P(StoreContract, HoldsAnUnknownKeyUntilItIsTakenOver) {
  const Key key = fresh_key();
  const Granted first = take(key);
  ASSERT_EQ(said(complete(key, first.fence, nullptr)), "ok");

  const Held held = look(key);
  EXPECT_EQ(held.record.state, Record::State::unknown);
  EXPECT_EQ(held.record.fence, first.fence);
  EXPECT_EQ(held.record.response, nullptr);
  EXPECT_EQ(held.lease_left, Millis{0});

  const Granted second = take(key, terms(Terms::Lapsed::taken_over));
  EXPECT_EQ(second.fence.number, first.fence.number + 1);
  EXPECT_EQ(look(key).record.state, Record::State::running);
}

// Another request never runs under a key whose first request may have taken effect, whatever the policy (G4). It may
// have a key that was released: there nothing happened.
TEST_P(StoreContract, AnotherRequestTakesOverNothing) {
  const Key unknown = fresh_key();
  const Granted first = take(unknown);
  ASSERT_EQ(said(complete(unknown, first.fence, nullptr)), "ok");
  const Key lapsed = fresh_key();
  Terms brief_terms = terms();
  brief_terms.lease = brief();
  take(lapsed, brief_terms);
  outlast(brief());
  for (const Key& key : {unknown, lapsed}) {
    const Result<Claim> refused = claim(key, terms(Terms::Lapsed::taken_over), fingerprint_of(2));
    ASSERT_EQ(said(refused), "ok");
    ASSERT_TRUE(std::holds_alternative<Held>(*refused));
    EXPECT_EQ(std::get<Held>(*refused).record.state, Record::State::unknown);
    EXPECT_EQ(std::get<Held>(*refused).record.fingerprint, fingerprint_of(1));
  }

  const Key released = fresh_key();
  ASSERT_EQ(said(release(released, take(released).fence)), "ok");
  const Result<Claim> granted = claim(released, terms(), fingerprint_of(2));
  ASSERT_EQ(said(granted), "ok");
  ASSERT_TRUE(std::holds_alternative<Granted>(*granted));
  EXPECT_EQ(look(released).record.fingerprint, fingerprint_of(2));
}

// An outcome that was once unknown keeps its request until the key expires: an attempt that took it over and was
// released says nothing about the first one.
TEST_P(StoreContract, WhatWasOnceUnknownStaysItsRequests) {
  const Key unknown = fresh_key();
  ASSERT_EQ(said(complete(unknown, take(unknown).fence, nullptr)), "ok");
  const Key lapsed = fresh_key();
  Terms brief_terms = terms();
  brief_terms.lease = brief();
  take(lapsed, brief_terms);
  outlast(brief());
  for (const Key& key : {unknown, lapsed}) {
    const Granted second = take(key, terms(Terms::Lapsed::taken_over));
    ASSERT_EQ(said(release(key, second.fence)), "ok");
    ASSERT_EQ(said(release(key, second.fence)), "ok");  // repeated
    const Result<Claim> other = claim(key, terms(Terms::Lapsed::taken_over), fingerprint_of(2));
    ASSERT_EQ(said(other), "ok");
    ASSERT_TRUE(std::holds_alternative<Held>(*other));
    EXPECT_EQ(std::get<Held>(*other).record.fingerprint, fingerprint_of(1));
    EXPECT_EQ(look(key).record.state, Record::State::unknown);
    const Granted third = take(key, terms(Terms::Lapsed::taken_over));
    EXPECT_EQ(third.fence.number, 3U);
    ASSERT_EQ(said(release(key, third.fence)), "ok");  // as doubtful as the second
    EXPECT_EQ(look(key).record.state, Record::State::unknown);
  }
}

// After a probe only the attempt that was probed may be replaced: a later one was not asked about.
TEST_P(StoreContract, TakesOverOnlyTheAttemptThatWasProbed) {
  const Key key = fresh_key();
  const Granted first = take(key);
  ASSERT_EQ(said(complete(key, first.fence, nullptr)), "ok");
  const Granted second = take(key, terms(Terms::Lapsed::taken_over));
  ASSERT_EQ(said(complete(key, second.fence, nullptr)), "ok");

  Terms probed = terms(Terms::Lapsed::taken_over);
  for (const Fence other : {first.fence, Fence{.number = second.fence.number, .owner = first.fence.owner}}) {
    probed.only_over = other;
    const Result<Claim> refused = claim(key, probed);
    ASSERT_EQ(said(refused), "ok");
    ASSERT_TRUE(std::holds_alternative<Held>(*refused));
    EXPECT_EQ(std::get<Held>(*refused).record.state, Record::State::unknown);
    EXPECT_EQ(std::get<Held>(*refused).record.fence, second.fence);
  }
  probed.only_over = second.fence;
  EXPECT_EQ(take(key, probed).fence.number, second.fence.number + 1);
}

// What was probed does not matter on a key that is free by now.
TEST_P(StoreContract, TakesAFreeKeyWhateverWasProbed) {
  const Key key = fresh_key();
  Terms probed = terms(Terms::Lapsed::taken_over);
  probed.only_over = Fence{.number = 4, .owner = 44};
  const Granted first = take(key, probed);
  EXPECT_EQ(first.fence.number, 1U);
  ASSERT_EQ(said(release(key, first.fence)), "ok");
  probed.owner = fresh_owner();
  EXPECT_EQ(take(key, probed).fence.number, 2U);
}

// A running claim is taken over under no policy while its lease is alive.
TEST_P(StoreContract, NeverTakesOverALivingClaim) {
  const Key key = fresh_key();
  const Granted granted = take(key);
  const Result<Claim> answer = claim(key, terms(Terms::Lapsed::taken_over));
  ASSERT_EQ(said(answer), "ok");
  ASSERT_TRUE(std::holds_alternative<Held>(*answer));
  EXPECT_EQ(std::get<Held>(*answer).record.state, Record::State::running);
  EXPECT_EQ(std::get<Held>(*answer).record.fence, granted.fence);
}

// The same text in another scope or namespace is another key: neither sees, ends nor frees the other's claim (G9).
TEST_P(StoreContract, KeepsScopesApart) {
  const Key key = fresh_key();
  Key other = fresh_key();
  other.space = key.space;
  Key nearly = key;  // differs in the last bit of the identity only
  nearly.id.back() ^= 1U;

  const Granted mine = take(key);
  const Granted theirs = take(other);
  const Granted neighbour = take(nearly);
  EXPECT_EQ(mine.fence.number, 1U);
  EXPECT_EQ(theirs.fence.number, 1U);
  EXPECT_EQ(neighbour.fence.number, 1U);

  EXPECT_EQ(said(complete(other, mine.fence, answer_of("wrong"))), "fenced");
  EXPECT_EQ(said(release(nearly, mine.fence)), "fenced");
  ASSERT_EQ(said(complete(key, mine.fence, answer_of("mine"))), "ok");
  EXPECT_EQ(look(other).record.state, Record::State::running);
  EXPECT_EQ(look(nearly).record.state, Record::State::running);
  ASSERT_EQ(said(complete(other, theirs.fence, answer_of("theirs"))), "ok");
  EXPECT_EQ(kept_body(key), "mine");
  EXPECT_EQ(kept_body(other), "theirs");
}

// The identity is the id alone: what a caller fills in as scope or namespace beside it makes no second key.
TEST_P(StoreContract, IdentifiesAKeyByItsIdAlone) {
  const Key key = fresh_key();
  const Granted granted = take(key);
  Key same = key;
  same.scope = {9, 9};
  same.space = "elsewhere";
  EXPECT_EQ(look(same).record.fence, granted.fence);
  EXPECT_EQ(look(same).record.key.space, key.space);
  EXPECT_EQ(said(complete(same, granted.fence, answer_of("one"))), "ok");
  EXPECT_EQ(look(key).record.state, Record::State::done);
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, testing::ValuesIn(all_backends()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Stores, ExactContract, testing::ValuesIn(backends_with(Timing::turned)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace semel::test
