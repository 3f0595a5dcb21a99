// Expiry: a record that has expired is absent, whether or not anybody has swept it (G8).

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "store/contract.h"

namespace semel::test {
namespace {

constexpr Millis tick{1};

// A key can be used again once its record has expired; the fence then begins at 1, and nothing of before is seen.
TEST_P(StoreContract, ExpiredKeyBeginsAnew) {
  const Key done = fresh_key();
  const Key released = fresh_key();
  Terms brief_terms = terms();
  brief_terms.lease = brief_terms.ttl = brief();
  ASSERT_EQ(said(complete(done, take(done, brief_terms).fence, answer_of("old"))), "ok");
  ASSERT_EQ(said(release(released, take(released, brief_terms).fence)), "ok");
  outlast(brief());
  for (const Key& key : {done, released}) {
    EXPECT_EQ(take(key).fence.number, 1U);
    EXPECT_EQ(look(key).record.state, Record::State::running);
    EXPECT_EQ(look(key).record.response, nullptr);
  }
}

// A fence from before the expiry has the number of the later claim and still cannot pass for it.
TEST_P(StoreContract, FenceFromBeforeExpiryIsRefusedAfterIt) {
  const Key key = fresh_key();
  Terms brief_terms = terms();
  brief_terms.lease = brief_terms.ttl = brief();
  const Granted old = take(key, brief_terms);
  outlast(brief());
  const Granted later = take(key);
  ASSERT_EQ(later.fence.number, old.fence.number);
  const Held before = look(key);
  EXPECT_EQ(said(renew(key, old.fence)), "fenced");
  EXPECT_EQ(said(complete(key, old.fence, answer_of("old"))), "fenced");
  EXPECT_EQ(said(release(key, old.fence)), "fenced");
  EXPECT_EQ(look(key).record, before.record);
}

// Nobody can act on an expired record, in whatever state it expired; unswept is as good as gone.
TEST_P(StoreContract, ExpiredRecordsAreAbsentForTheirHolder) {
  Terms brief_terms = terms();
  brief_terms.lease = brief_terms.ttl = brief();
  std::vector<std::pair<Key, Fence>> claims;
  for (int i = 0; i < 4; ++i) {
    const Key key = fresh_key();
    claims.emplace_back(key, take(key, brief_terms).fence);
  }
  ASSERT_EQ(said(complete(claims[1].first, claims[1].second, answer_of("old"))), "ok");
  ASSERT_EQ(said(complete(claims[2].first, claims[2].second, nullptr)), "ok");
  ASSERT_EQ(said(release(claims[3].first, claims[3].second)), "ok");
  outlast(brief());
  for (const auto& [key, fence] : claims) {
    EXPECT_EQ(said(renew(key, fence)), "fenced");
    EXPECT_EQ(said(complete(key, fence, answer_of("new"))), "fenced");
    EXPECT_EQ(said(complete(key, fence, nullptr)), "fenced");
    EXPECT_EQ(said(release(key, fence)), "fenced");
    EXPECT_EQ(take(key).fence.number, 1U);
  }
}

// A holder that goes on renewing keeps its key past the expiry: nobody starts a second attempt beside it (G1).
TEST_P(StoreContract, RunningClaimDoesNotExpireUnderItsHolder) {
  const Key key = fresh_key();
  Terms mine = terms();
  mine.ttl = brief();
  const Granted granted = take(key, mine);
  outlast(brief());
  EXPECT_EQ(look(key).record.state, Record::State::running);
  const Result<Claim> other = claim(key, terms(Terms::Lapsed::taken_over));
  ASSERT_EQ(said(other), "ok");
  EXPECT_TRUE(std::holds_alternative<Held>(*other));
  EXPECT_EQ(sweep(100), 0U);
  EXPECT_EQ(said(renew(key, granted.fence)), "ok");
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("kept"))), "ok");
  EXPECT_EQ(take(key).fence.number, 1U);  // it ended past its expiry, so it is gone at once
}

// The lease is alive one millisecond before lease_until and has lapsed at it.
TEST_P(ExactContract, LeaseLapsesAtTheVeryMillisecond) {
  const Key key = fresh_key();
  Terms mine = terms();
  mine.lease = Millis{50};
  const Granted granted = take(key, mine);
  virtual_clock_.advance(Millis{49});
  const Held alive = look(key);
  EXPECT_EQ(alive.record.state, Record::State::running);
  EXPECT_EQ(alive.lease_left, tick);
  virtual_clock_.advance(tick);
  const Held over = look(key);
  EXPECT_EQ(over.record.state, Record::State::unknown);
  EXPECT_EQ(over.record.lease_until, virtual_clock_.now());
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("late"))), "fenced");
}

// Each call of a holder is good in the last millisecond of the lease.
TEST_P(ExactContract, HolderMayActInTheLastMillisecondOfItsLease) {
  const std::array<std::function<Result<void>(const Key&, Fence)>, 4> calls{
      [&](const Key& key, Fence fence) { return renew(key, fence); },
      [&](const Key& key, Fence fence) { return complete(key, fence, answer_of("kept")); },
      [&](const Key& key, Fence fence) { return complete(key, fence, nullptr); },
      [&](const Key& key, Fence fence) { return release(key, fence); }};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (const Millis wait : {Millis{49}, Millis{50}}) {
      const Key key = fresh_key();
      Terms mine = terms();
      mine.lease = Millis{50};
      const Granted granted = take(key, mine);
      virtual_clock_.advance(wait);
      EXPECT_EQ(said(calls.at(i)(key, granted.fence)), wait == Millis{49} ? "ok" : "fenced") << "call " << i;
    }
  }
}

// Held one millisecond before expires_at, absent at it; for every way in which a claim can have ended.
TEST_P(ExactContract, RecordsExpireAtTheVeryMillisecond) {
  enum class End : std::uint8_t { lapsed, done, unknown };
  for (const End end : {End::lapsed, End::done, End::unknown}) {
    const Key key = fresh_key();
    Terms mine = terms();
    mine.lease = Millis{20};
    mine.ttl = Millis{100};
    const Granted granted = take(key, mine);
    EXPECT_EQ(granted.expires_at, virtual_clock_.now() + Millis{100});
    if (end == End::done) ASSERT_EQ(said(complete(key, granted.fence, answer_of("kept"))), "ok");
    if (end == End::unknown) ASSERT_EQ(said(complete(key, granted.fence, nullptr)), "ok");
    virtual_clock_.advance(Millis{99});
    EXPECT_EQ(look(key).record.state, end == End::done ? Record::State::done : Record::State::unknown);
    virtual_clock_.advance(tick);
    EXPECT_EQ(take(key).fence.number, 1U);
  }
}

// A repeated call succeeds until the record expires and is fenced from that millisecond on.
TEST_P(ExactContract, RepetitionsSucceedUntilTheVeryMillisecondOfExpiry) {
  for (const Millis wait : {Millis{99}, Millis{100}}) {
    const std::string_view expected = wait == Millis{99} ? "ok" : "fenced";
    Terms mine = terms();
    mine.lease = mine.ttl = Millis{100};
    const Key done = fresh_key();
    const Key unknown = fresh_key();
    const Key released = fresh_key();
    const Fence done_fence = take(done, mine).fence;
    const Fence unknown_fence = take(unknown, mine).fence;
    const Fence released_fence = take(released, mine).fence;
    ASSERT_EQ(said(complete(done, done_fence, answer_of("kept"))), "ok");
    ASSERT_EQ(said(complete(unknown, unknown_fence, nullptr)), "ok");
    ASSERT_EQ(said(release(released, released_fence)), "ok");
    virtual_clock_.advance(wait);
    EXPECT_EQ(said(complete(done, done_fence, answer_of("kept"))), expected);
    EXPECT_EQ(said(complete(unknown, unknown_fence, nullptr)), expected);
    EXPECT_EQ(said(release(released, released_fence)), expected);
  }
}

// The fence of a released key goes on growing until the record expires, and begins anew with that millisecond.
TEST_P(ExactContract, ReleasedFenceIsKeptUntilTheVeryMillisecondOfExpiry) {
  for (const Millis wait : {Millis{99}, Millis{100}}) {
    const Key key = fresh_key();
    Terms mine = terms();
    mine.ttl = Millis{100};
    ASSERT_EQ(said(release(key, take(key, mine).fence)), "ok");
    virtual_clock_.advance(wait);
    EXPECT_EQ(take(key).fence.number, wait == Millis{99} ? 2U : 1U);
  }
}

// A running claim past its expires_at is held until its lease lapses, and absent at that very millisecond.
TEST_P(ExactContract, LiveLeaseKeepsTheKeyPastExpiryToTheVeryMillisecond) {
  const Key key = fresh_key();
  Terms mine = terms();
  mine.lease = Millis{100};
  mine.ttl = Millis{30};
  take(key, mine);
  virtual_clock_.advance(Millis{99});
  EXPECT_EQ(look(key).lease_left, tick);
  EXPECT_EQ(sweep(100), 0U);
  virtual_clock_.advance(tick);
  EXPECT_EQ(take(key).fence.number, 1U);
}

// Asking again for one's own claim proves nothing about being alive: it moves neither the lease nor the expiry.
TEST_P(ExactContract, RepeatedClaimProlongsNothing) {
  const Key key = fresh_key();
  Terms mine = terms();
  mine.lease = Millis{50};
  mine.ttl = Millis{100};
  const Granted first = take(key, mine);
  virtual_clock_.advance(Millis{40});
  EXPECT_EQ(take(key, mine).expires_at, first.expires_at);
  EXPECT_EQ(look(key).lease_left, Millis{10});
  virtual_clock_.advance(Millis{10});
  EXPECT_EQ(look(key).record.state, Record::State::unknown);
}

}  // namespace
}  // namespace semel::test
