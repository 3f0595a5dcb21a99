// What a store has acknowledged is there when it is opened again: every state, every fence, every deadline (G2).

#include <variant>

#include <gtest/gtest.h>

#include "store/contract.h"

namespace semel::test {
namespace {

// Each state survives, with every part of the record.
TEST_P(ReopenContract, KeepsRecordsOfEveryState) {
  const Key running = fresh_key();
  const Key done = fresh_key();
  const Key unknown = fresh_key();
  take(running);
  ASSERT_EQ(said(complete(done, take(done).fence, answer_of("kept"))), "ok");
  ASSERT_EQ(said(complete(unknown, take(unknown).fence, nullptr)), "ok");
  const Record running_before = look(running).record;
  const Record done_before = look(done).record;
  const Record unknown_before = look(unknown).record;

  reopen();
  EXPECT_EQ(look(running).record, running_before);
  EXPECT_EQ(look(done).record, done_before);
  EXPECT_EQ(look(unknown).record, unknown_before);
}

// A claim goes on where it was: its holder, who may be another process, renews and completes it with the same fence.
TEST_P(ReopenContract, RunningClaimGoesOn) {
  const Key key = fresh_key();
  const Terms mine = terms();
  const Granted granted = take(key, mine);
  reopen();
  EXPECT_EQ(take(key, mine).fence, granted.fence);
  EXPECT_EQ(said(renew(key, granted.fence)), "ok");
  reopen();
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("kept"))), "ok");
  reopen();
  EXPECT_EQ(kept_body(key), "kept");
}

// The lease runs on while the store is closed: nobody holds a key for ever by dying.
TEST_P(ReopenContract, LeaseRunsOnWhileClosed) {
  const Key key = fresh_key();
  Terms mine = terms();
  mine.lease = brief();
  const Granted granted = take(key, mine);
  store_.reset();
  outlast(brief());
  reopen();
  EXPECT_EQ(look(key).record.state, Record::State::unknown);
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("late"))), "fenced");
  EXPECT_EQ(take(key, terms(Terms::Lapsed::taken_over)).fence.number, granted.fence.number + 1);
}

// A renewal is kept: the claim does not fall back to the lease that it was made with.
TEST_P(ReopenContract, RenewedLeaseIsKept) {
  const Key key = fresh_key();
  Terms mine = terms();
  mine.lease = brief();
  const Granted granted = take(key, mine);
  ASSERT_EQ(said(renew(key, granted.fence, ample)), "ok");
  reopen();
  outlast(brief());
  EXPECT_EQ(look(key).record.state, Record::State::running);
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("kept"))), "ok");
}

// The fence of a released key goes on growing, so a holder from before the restart stays fenced.
TEST_P(ReopenContract, ReleasedFenceGoesOnGrowing) {
  const Key key = fresh_key();
  const Granted first = take(key);
  ASSERT_EQ(said(release(key, first.fence)), "ok");
  reopen();
  EXPECT_EQ(said(release(key, first.fence)), "ok");
  const Granted second = take(key);
  EXPECT_EQ(second.fence.number, 2U);
  EXPECT_EQ(said(complete(key, first.fence, answer_of("old"))), "fenced");
}

// A record expires while the store is closed, counts as absent when it opens, and can be swept then.
TEST_P(ReopenContract, RecordsExpireWhileClosed) {
  const Key used_again = fresh_key();
  const Key swept = fresh_key();
  Terms brief_terms = terms();
  brief_terms.ttl = brief();
  for (const Key& key : {used_again, swept}) {
    brief_terms.owner = fresh_owner();
    ASSERT_EQ(said(complete(key, take(key, brief_terms).fence, answer_of("old"))), "ok");
  }
  const Key kept = fresh_key();
  ASSERT_EQ(said(complete(kept, take(kept).fence, answer_of("kept"))), "ok");
  store_.reset();
  outlast(brief());
  reopen();
  EXPECT_EQ(take(used_again).fence.number, 1U);
  EXPECT_EQ(sweep(10), counted(1));
  EXPECT_EQ(sweep(10), 0U);
  EXPECT_EQ(kept_body(kept), "kept");
}

// What was swept stays away, and what was not swept stays, over a restart.
TEST_P(ReopenContract, SweepingIsKept) {
  Terms brief_terms = terms();
  brief_terms.lease = brief_terms.ttl = brief();
  for (int i = 0; i < 9; ++i) {
    brief_terms.owner = fresh_owner();
    take(fresh_key(), brief_terms);
  }
  outlast(brief());
  EXPECT_EQ(sweep(4), counted(4));
  reopen();
  EXPECT_EQ(sweep(100), counted(5));
  reopen();
  EXPECT_EQ(sweep(100), 0U);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReopenContract);
INSTANTIATE_TEST_SUITE_P(Stores, ReopenContract, testing::ValuesIn(backends_with(Memory::keeps)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace semel::test
