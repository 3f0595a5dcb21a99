// What an operator may do: let an ended key run again.

#include <stdexcept>

#include <gtest/gtest.h>

#include "store/contract.h"
#include "support/run.h"
#include <semel/reopening.h>

namespace semel::test {
namespace {

bool reopened(boost::asio::io_context& context, Reopening* reopening, const Key& key) {
  if (reopening == nullptr) throw std::runtime_error("the store cannot reopen keys");
  const Result<bool> answer = run(context, reopening->reopen(key));
  if (!answer) throw std::runtime_error("reopening failed: " + answer.error().detail);
  return *answer;
}

// A completed key runs again, once, with the next fence; its first answer is gone, and its first holder is fenced.
TEST_P(StoreContract, AReopenedKeyRunsAgain) {
  const Key key = fresh_key();
  const Granted first = take(key);
  ASSERT_EQ(said(complete(key, first.fence, answer_of("one"))), "ok");
  EXPECT_TRUE(reopened(context_, reopening_, key));
  EXPECT_FALSE(reopened(context_, reopening_, key)) << "it is free already";
  const Granted second = take(key);
  EXPECT_EQ(second.fence.number, first.fence.number + 1);
  EXPECT_EQ(said(complete(key, first.fence, answer_of("old"))), "fenced");
  ASSERT_EQ(said(complete(key, second.fence, answer_of("two"))), "ok");
  EXPECT_EQ(kept_body(key), "two");
}

// An outcome that nobody knows may be given up, too, whether it was told so or its lease has lapsed.
TEST_P(StoreContract, AnUnknownKeyMayBeReopened) {
  const Key unknown = fresh_key();
  ASSERT_EQ(said(complete(unknown, take(unknown).fence, nullptr)), "ok");
  const Key lapsed = fresh_key();
  Terms brief_terms = terms();
  brief_terms.lease = brief();
  const Granted lost = take(lapsed, brief_terms);
  EXPECT_FALSE(reopened(context_, reopening_, lapsed)) << "it runs";
  outlast(brief());
  for (const Key& key : {unknown, lapsed}) {
    EXPECT_TRUE(reopened(context_, reopening_, key));
    EXPECT_EQ(take(key).fence.number, 2U);
  }
  EXPECT_EQ(said(complete(lapsed, lost.fence, answer_of("late"))), "fenced");
}

// There is nothing to reopen where nothing has ended.
TEST_P(StoreContract, OnlyWhatHasEndedIsReopened) {
  EXPECT_FALSE(reopened(context_, reopening_, fresh_key()));
  const Key running = fresh_key();
  const Granted granted = take(running);
  EXPECT_FALSE(reopened(context_, reopening_, running));
  ASSERT_EQ(said(complete(running, granted.fence, answer_of("one"))), "ok");
  const Key released = fresh_key();
  ASSERT_EQ(said(release(released, take(released).fence)), "ok");
  EXPECT_FALSE(reopened(context_, reopening_, released));
  const Key expired = fresh_key();
  Terms brief_terms = terms();
  brief_terms.ttl = brief();
  ASSERT_EQ(said(complete(expired, take(expired, brief_terms).fence, answer_of("old"))), "ok");
  outlast(brief());
  EXPECT_FALSE(reopened(context_, reopening_, expired));
}

// It is durable: a key that was reopened is free when the store is opened again.
TEST_P(ReopenContract, WhatWasReopenedStaysFree) {
  const Key key = fresh_key();
  ASSERT_EQ(said(complete(key, take(key).fence, answer_of("one"))), "ok");
  ASSERT_TRUE(reopened(context_, reopening_, key));
  reopen();
  EXPECT_EQ(take(key).fence.number, 2U);
}

}  // namespace
}  // namespace semel::test
