// Fencing: a holder whose claim is over changes nothing, whatever it tries and whoever has the key now (G6).

#include <cstdint>
#include <variant>

#include <gtest/gtest.h>

#include "store/contract.h"

namespace semel::test {
namespace {

// The number grows by one with each claim of the key, from 1.
TEST_P(StoreContract, FenceGrowsByOneOverReleaseAndTakeOver) {
  const Key key = fresh_key();
  std::uint64_t number = 0;
  for (int round = 0; round < 10; ++round) {
    const Granted granted = take(key, terms(Terms::Lapsed::taken_over));
    EXPECT_EQ(granted.fence.number, ++number);
    if (round % 2 == 0) {
      ASSERT_EQ(said(release(key, granted.fence)), "ok");
    } else {
      ASSERT_EQ(said(complete(key, granted.fence, nullptr)), "ok");
    }
  }
}

// Completing twice is one completion: the second call succeeds and the first response stays.
TEST_P(StoreContract, RepeatedCompletionKeepsTheFirstResponse) {
  const Key key = fresh_key();
  const Granted granted = take(key);
  ASSERT_EQ(said(complete(key, granted.fence, answer_of("first"))), "ok");
  const Held before = look(key);
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("first"))), "ok");
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("second"))), "ok");
  EXPECT_EQ(look(key).record, before.record);
  EXPECT_EQ(kept_body(key), "first");
}

// Unknown repeated is unknown still.
TEST_P(StoreContract, RepeatedUnknownSucceeds) {
  const Key key = fresh_key();
  const Granted granted = take(key);
  ASSERT_EQ(said(complete(key, granted.fence, nullptr)), "ok");
  EXPECT_EQ(said(complete(key, granted.fence, nullptr)), "ok");
  EXPECT_EQ(look(key).record.state, Record::State::unknown);
}

// An owner is granted a key once. A claim that arrives after its owner has ended it holds nothing, and another owner
// gets the key.
TEST_P(StoreContract, ClaimThatComesAfterItsOwnReleaseIsNotGranted) {
  const Key key = fresh_key();
  const Terms mine = terms();
  const Granted first = take(key, mine);
  ASSERT_EQ(said(release(key, first.fence)), "ok");
  const Result<Claim> late = claim(key, mine);
  ASSERT_EQ(said(late), "ok");
  ASSERT_TRUE(std::holds_alternative<Held>(*late));
  EXPECT_EQ(std::get<Held>(*late).record.state, Record::State::released);
  EXPECT_EQ(take(key).fence.number, 2U);
}

TEST_P(StoreContract, ClaimThatComesAfterItsOwnUnknownOutcomeIsNotGranted) {
  const Key key = fresh_key();
  const Terms mine = terms(Terms::Lapsed::taken_over);
  ASSERT_EQ(said(complete(key, take(key, mine).fence, nullptr)), "ok");
  const Result<Claim> late = claim(key, mine);
  ASSERT_EQ(said(late), "ok");
  ASSERT_TRUE(std::holds_alternative<Held>(*late));
  EXPECT_EQ(std::get<Held>(*late).record.state, Record::State::unknown);
  EXPECT_EQ(take(key, terms(Terms::Lapsed::taken_over)).fence.number, 2U);
}

// Releasing twice succeeds as long as nobody has the key; then the fence of the first attempt means nothing any more.
TEST_P(StoreContract, RepeatedReleaseSucceedsUntilTheKeyIsTaken) {
  const Key key = fresh_key();
  const Granted first = take(key);
  ASSERT_EQ(said(release(key, first.fence)), "ok");
  EXPECT_EQ(said(release(key, first.fence)), "ok");
  const Granted second = take(key);
  EXPECT_EQ(said(release(key, first.fence)), "fenced");
  EXPECT_EQ(look(key).record.fence, second.fence);
  EXPECT_EQ(look(key).record.state, Record::State::running);
}

// A claim ends in one way. What was told to be unknown is not known afterwards, and is never released.
TEST_P(StoreContract, UnknownIsFinalForItsHolder) {
  const Key key = fresh_key();
  const Granted granted = take(key);
  ASSERT_EQ(said(complete(key, granted.fence, nullptr)), "ok");
  const Held before = look(key);
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("late"))), "fenced");
  EXPECT_EQ(said(release(key, granted.fence)), "fenced");
  EXPECT_EQ(said(renew(key, granted.fence)), "fenced");
  EXPECT_EQ(look(key).record, before.record);
}

// Nothing undoes a response that was kept.
TEST_P(StoreContract, DoneIsFinalForItsHolder) {
  const Key key = fresh_key();
  const Granted granted = take(key);
  ASSERT_EQ(said(complete(key, granted.fence, answer_of("kept"))), "ok");
  const Held before = look(key);
  EXPECT_EQ(said(complete(key, granted.fence, nullptr)), "fenced");
  EXPECT_EQ(said(release(key, granted.fence)), "fenced");
  EXPECT_EQ(said(renew(key, granted.fence)), "fenced");
  EXPECT_EQ(look(key).record, before.record);
}

// A released claim can be neither renewed nor completed, and the key stays free.
TEST_P(StoreContract, ReleasedIsFinalForItsHolder) {
  const Key key = fresh_key();
  const Granted granted = take(key);
  ASSERT_EQ(said(release(key, granted.fence)), "ok");
  EXPECT_EQ(said(renew(key, granted.fence)), "fenced");
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("late"))), "fenced");
  EXPECT_EQ(said(complete(key, granted.fence, nullptr)), "fenced");
  EXPECT_EQ(take(key).fence.number, 2U);
}

// A key that nobody ever claimed is no one's: every call of a holder is fenced and leaves no record behind.
TEST_P(StoreContract, FencesEveryoneOnAKeyThatWasNeverClaimed) {
  const Key key = fresh_key();
  const Fence fence{.number = 1, .owner = fresh_owner()};
  EXPECT_EQ(said(renew(key, fence)), "fenced");
  EXPECT_EQ(said(complete(key, fence, answer_of("none"))), "fenced");
  EXPECT_EQ(said(complete(key, fence, nullptr)), "fenced");
  EXPECT_EQ(said(release(key, fence)), "fenced");
  EXPECT_EQ(take(key).fence.number, 1U);
}

// Both halves of a fence count: the right number with another owner is refused, and the right owner with another
// number.
TEST_P(StoreContract, RefusesAFenceThatIsRightInOneHalfOnly) {
  const Key key = fresh_key();
  const Granted granted = take(key);
  const Fence wrong_owner{.number = granted.fence.number, .owner = granted.fence.owner + 1};
  const Fence lower{.number = granted.fence.number - 1, .owner = granted.fence.owner};
  const Fence higher{.number = granted.fence.number + 1, .owner = granted.fence.owner};
  const Held before = look(key);
  for (const Fence fence : {wrong_owner, lower, higher}) {
    EXPECT_EQ(said(renew(key, fence, 2 * ample)), "fenced");
    EXPECT_EQ(said(complete(key, fence, answer_of("wrong"))), "fenced");
    EXPECT_EQ(said(complete(key, fence, nullptr)), "fenced");
    EXPECT_EQ(said(release(key, fence)), "fenced");
    EXPECT_EQ(look(key).record, before.record);
  }
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("right"))), "ok");
}

// A fence is compared in all its 64 bits, twice.
TEST_P(StoreContract, KeepsOwnersOf64Bits) {
  const Key key = fresh_key();
  for (const std::uint64_t owner : {std::uint64_t{0xffff'ffff'ffff'ffff}, std::uint64_t{0x8000'0000'0000'0000},
                                    std::uint64_t{0x7fff'ffff'ffff'ffff}, std::uint64_t{1}}) {
    Terms mine = terms();
    mine.owner = owner;
    const Granted granted = take(key, mine);
    EXPECT_EQ(granted.fence.owner, owner);
    EXPECT_EQ(look(key).record.fence, granted.fence);
    const Fence truncated{.number = granted.fence.number, .owner = owner ^ 0x8000'0000'0000'0000};
    EXPECT_EQ(said(release(key, truncated)), "fenced");
    ASSERT_EQ(said(release(key, granted.fence)), "ok");
  }
}

// A holder that slept through its lease is fenced even if nobody noticed; the key is told as unknown (G5, G6).
TEST_P(StoreContract, FencesAHolderThatSleptThoughNobodyTookOver) {
  const Key key = fresh_key();
  Terms mine = terms();
  mine.lease = brief();
  const Granted granted = take(key, mine);
  outlast(brief());

  const Held before = look(key);
  EXPECT_EQ(before.record.state, Record::State::unknown);
  EXPECT_EQ(before.record.fence, granted.fence);
  EXPECT_EQ(before.lease_left, Millis{0});
  EXPECT_EQ(said(renew(key, granted.fence)), "fenced");
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("late"))), "fenced");
  EXPECT_EQ(said(complete(key, granted.fence, nullptr)), "fenced");
  EXPECT_EQ(said(release(key, granted.fence)), "fenced");
  EXPECT_EQ(look(key).record, before.record);

  const Result<Claim> same_owner = claim(key, mine);  // its own claim, but it is over
  ASSERT_EQ(said(same_owner), "ok");
  ASSERT_TRUE(std::holds_alternative<Held>(*same_owner));
  EXPECT_EQ(std::get<Held>(*same_owner).record.state, Record::State::unknown);
}

// A holder that slept cannot touch the claim of the one who took over, nor its response.
TEST_P(StoreContract, FencesAHolderThatSleptAfterSomebodyTookOver) {
  const Key key = fresh_key();
  Terms mine = terms();
  mine.lease = brief();
  const Granted asleep = take(key, mine);
  outlast(brief());
  const Granted awake = take(key, terms(Terms::Lapsed::taken_over));
  EXPECT_EQ(awake.fence.number, asleep.fence.number + 1);

  for (const bool ended : {false, true}) {
    if (ended) ASSERT_EQ(said(complete(key, awake.fence, answer_of("awake"))), "ok");
    const Held before = look(key);
    EXPECT_EQ(said(renew(key, asleep.fence)), "fenced");
    EXPECT_EQ(said(complete(key, asleep.fence, answer_of("asleep"))), "fenced");
    EXPECT_EQ(said(complete(key, asleep.fence, nullptr)), "fenced");
    EXPECT_EQ(said(release(key, asleep.fence)), "fenced");
    EXPECT_EQ(look(key).record, before.record);
  }
  EXPECT_EQ(kept_body(key), "awake");
}

// An owner that takes its own lapsed claim over gets a new fence, and the old one is worth nothing.
TEST_P(StoreContract, SameOwnerGetsANewFenceAfterItsLeaseLapsed) {
  const Key key = fresh_key();
  Terms mine = terms(Terms::Lapsed::taken_over);
  mine.lease = brief();
  const Granted first = take(key, mine);
  outlast(brief());
  mine.lease = ample;
  const Granted second = take(key, mine);
  EXPECT_EQ(second.fence, (Fence{.number = first.fence.number + 1, .owner = mine.owner}));
  EXPECT_EQ(said(complete(key, first.fence, answer_of("first"))), "fenced");
  EXPECT_EQ(said(complete(key, second.fence, answer_of("second"))), "ok");
}

// A renewed claim outlives the lease that it was made with.
TEST_P(StoreContract, RenewingKeepsAClaimAlive) {
  const Key key = fresh_key();
  Terms mine = terms();
  mine.lease = brief();
  const Granted granted = take(key, mine);
  ASSERT_EQ(said(renew(key, granted.fence, ample)), "ok");
  outlast(brief());
  EXPECT_EQ(look(key).record.state, Record::State::running);
  EXPECT_EQ(said(renew(key, granted.fence, ample)), "ok");
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("kept"))), "ok");
  EXPECT_EQ(look(key).record.expires_at, granted.expires_at);  // fixed by the claim
}

// A claim renewed for a short while lapses when that while is over, however long the first lease was.
TEST_P(StoreContract, RenewingCountsFromNow) {
  const Key key = fresh_key();
  const Granted granted = take(key);
  ASSERT_EQ(said(renew(key, granted.fence, brief())), "ok");
  outlast(brief());
  EXPECT_EQ(look(key).record.state, Record::State::unknown);
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("late"))), "fenced");
}

}  // namespace
}  // namespace semel::test
