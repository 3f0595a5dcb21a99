// Sweeping: what it deletes, what it must never delete, and what it may cost.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/contract.h"

namespace semel::test {
namespace {

std::size_t sum(const std::vector<std::size_t>& counts) {
  std::size_t total = 0;
  for (const std::size_t count : counts) total += count;
  return total;
}

// Nothing stored, nothing to sweep: no error.
TEST_P(StoreContract, SweepsAnEmptyStore) {
  EXPECT_EQ(sweep(10), 0U);
}

// Only what has expired goes; a live record of any state is still there afterwards.
TEST_P(StoreContract, SweepDeletesWhatHasExpiredAndNothingElse) {
  const Key running = fresh_key();
  const Key done = fresh_key();
  const Key unknown = fresh_key();
  const Key released = fresh_key();
  const Granted held = take(running);
  ASSERT_EQ(said(complete(done, take(done).fence, answer_of("kept"))), "ok");
  ASSERT_EQ(said(complete(unknown, take(unknown).fence, nullptr)), "ok");
  ASSERT_EQ(said(release(released, take(released).fence)), "ok");

  Terms brief_terms = terms();
  brief_terms.lease = brief_terms.ttl = brief();
  const Key gone_done = fresh_key();
  const Key gone_unknown = fresh_key();
  const Key gone_released = fresh_key();
  const Key gone_lapsed = fresh_key();
  ASSERT_EQ(said(complete(gone_done, take(gone_done, brief_terms).fence, answer_of("old"))), "ok");
  ASSERT_EQ(said(complete(gone_unknown, take(gone_unknown, brief_terms).fence, nullptr)), "ok");
  ASSERT_EQ(said(release(gone_released, take(gone_released, brief_terms).fence)), "ok");
  take(gone_lapsed, brief_terms);
  if (exact()) EXPECT_EQ(sweep(100), 0U);
  outlast(brief());

  EXPECT_EQ(sum(sweep_all(100)), counted(4));
  EXPECT_EQ(look(running).record.fence, held.fence);
  EXPECT_EQ(kept_body(done), "kept");
  EXPECT_EQ(look(unknown).record.state, Record::State::unknown);
  EXPECT_EQ(take(released).fence.number, 2U);
  EXPECT_EQ(said(complete(running, held.fence, answer_of("kept"))), "ok");
  for (const Key& key : {gone_done, gone_unknown, gone_released, gone_lapsed}) EXPECT_EQ(take(key).fence.number, 1U);
}

// A sweep deletes no more than it was asked to, and sweeping on gets the rest.
TEST_P(StoreContract, SweepHonoursItsLimit) {
  Terms brief_terms = terms();
  brief_terms.lease = brief_terms.ttl = brief();
  for (int i = 0; i < 25; ++i) {
    const Key key = fresh_key();
    brief_terms.owner = fresh_owner();
    ASSERT_EQ(said(complete(key, take(key, brief_terms).fence, answer_of("old"))), "ok");
  }
  outlast(brief());
  EXPECT_EQ(sweep(0), 0U);
  const std::vector<std::size_t> counts = sweep_all(10);
  EXPECT_EQ(sum(counts), counted(25));
  EXPECT_GE(counts.size(), counted(3));
  EXPECT_EQ(sweep(100), 0U);
}

// Claims that run past their expiry are first in line and must not be deleted, nor hide what has expired behind them.
TEST_P(StoreContract, SweepReachesWhatHasExpiredBehindLivingClaims) {
  std::vector<std::pair<Key, Fence>> living;
  Terms outliving = terms();
  outliving.ttl = brief() / 2;
  for (int i = 0; i < 30; ++i) {
    const Key key = fresh_key();
    outliving.owner = fresh_owner();
    living.emplace_back(key, take(key, outliving).fence);
  }
  Terms brief_terms = terms();
  brief_terms.lease = brief_terms.ttl = brief();
  for (int i = 0; i < 12; ++i) {
    const Key key = fresh_key();
    brief_terms.owner = fresh_owner();
    ASSERT_EQ(said(release(key, take(key, brief_terms).fence)), "ok");
  }
  outlast(brief());
  EXPECT_EQ(sum(sweep_all(5)), counted(12));
  for (const auto& [key, fence] : living) {
    EXPECT_EQ(said(complete(key, fence, answer_of("kept"))), "ok");
  }
  EXPECT_EQ(sum(sweep_all(7)), counted(30));
}

// A key that was used again after its expiry has a new record, which the sweep of the old one must not take along.
TEST_P(StoreContract, SweepLeavesAKeyThatWasClaimedAnew) {
  const Key key = fresh_key();
  Terms brief_terms = terms();
  brief_terms.lease = brief_terms.ttl = brief();
  ASSERT_EQ(said(complete(key, take(key, brief_terms).fence, answer_of("old"))), "ok");
  outlast(brief());
  const Granted anew = take(key);
  EXPECT_EQ(sweep(100), 0U);
  EXPECT_EQ(look(key).record.fence, anew.fence);
  EXPECT_EQ(said(complete(key, anew.fence, answer_of("new"))), "ok");
  EXPECT_EQ(kept_body(key), "new");
}

// A take-over sets a new expiry; the one of the attempt before it must not delete the key.
TEST_P(StoreContract, SweepGoesByTheLatestClaimOfAKey) {
  const Key key = fresh_key();
  Terms brief_terms = terms();
  brief_terms.ttl = brief();
  ASSERT_EQ(said(complete(key, take(key, brief_terms).fence, nullptr)), "ok");
  const Granted second = take(key, terms(Terms::Lapsed::taken_over));
  ASSERT_EQ(said(complete(key, second.fence, answer_of("second"))), "ok");
  outlast(brief());
  EXPECT_EQ(sweep(100), 0U);
  EXPECT_EQ(kept_body(key), "second");
}

Task<void> claim_each(Store* store, const std::vector<Key>* keys, std::atomic<std::size_t>* next) {
  Terms terms;
  terms.lease = ample;
  terms.ttl = 24 * ample;
  for (std::size_t at = (*next)++; at < keys->size(); at = (*next)++) {
    terms.owner = at + 1;
    const Key key = (*keys)[at];
    const Fingerprint fingerprint = fingerprint_of(1);
    const Result<Claim> claim = co_await store->claim(key, fingerprint, terms);
    if (!claim) throw std::runtime_error("the claim failed: " + claim.error().detail);
  }
}

// A sweep that finds nothing takes no longer with a hundred times as many living records: the fastest of some sweeps,
// so that a busy machine does not decide.
TEST_P(StoreContract, SweepCostsWhatHasExpiredNotWhatIsStored) {
  const auto fill = [&](std::size_t count) {
    std::vector<Key> keys;
    for (std::size_t i = 0; i < count; ++i) keys.push_back(fresh_key());
    std::atomic<std::size_t> next = 0;
    crew_.run(2, [&](std::size_t, boost::asio::io_context& context) {
      for (int lane = 0; lane < 64; ++lane) start(context, claim_each(store_.get(), &keys, &next));
      context.run();
    });
  };
  const auto fastest_sweep = [&] {
    auto fastest = std::chrono::steady_clock::duration::max();
    for (int time = 0; time < 30; ++time) {
      const auto begun = std::chrono::steady_clock::now();
      EXPECT_EQ(sweep(1'000), 0U);
      fastest = std::min(fastest, std::chrono::steady_clock::now() - begun);
    }
    return fastest;
  };
  fill(100);
  const auto with_few = fastest_sweep();
  fill(10'000);
  const auto with_many = fastest_sweep();
  EXPECT_LT(with_many, (10 * with_few) + Millis{2});
}

// A record is deleted at the millisecond of its expiry and not one before.
TEST_P(ExactContract, SweepDeletesFromTheVeryMillisecondOfExpiry) {
  const Key key = fresh_key();
  Terms mine = terms();
  mine.ttl = Millis{100};
  ASSERT_EQ(said(complete(key, take(key, mine).fence, answer_of("kept"))), "ok");
  virtual_clock_.advance(Millis{99});
  EXPECT_EQ(sweep(10), 0U);
  virtual_clock_.advance(Millis{1});
  EXPECT_EQ(sweep(10), 1U);
}

}  // namespace
}  // namespace semel::test
