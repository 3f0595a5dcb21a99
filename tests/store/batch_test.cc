// The rules of a group commit, over a ledger that counts and fails on demand.
#include "store/batch.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "store/fake_ledger.h"
#include "store/recent_writes.h"

namespace semel::test {
namespace {

constexpr Time start{Millis{1'000'000}};
constexpr Millis lease{30'000};
constexpr Millis ttl{60'000};

Key key(std::uint8_t number) {
  Key made;
  made.id[0] = number;
  made.space = "test";
  return made;
}

SharedResponse response(const std::string& body) {
  return std::make_shared<Response>(Response{.status = 200, .fields = {}, .body = body});
}

class BatchTest : public testing::Test {
 protected:
  Call& claim(const Key& key, std::uint64_t owner, Terms::Lapsed lapsed = Terms::Lapsed::stands) {
    const Terms terms{.lease = lease, .ttl = ttl, .lapsed = lapsed, .owner = owner};
    return add(key, ClaimCall{.fingerprint = {}, .terms = terms});
  }
  Call& complete(const Key& key, Fence fence, const std::string& body) {
    return add(key, CompleteCall{.fence = fence, .response = response(body)});
  }
  Call& renew(const Key& key, Fence fence) { return add(key, RenewCall{.fence = fence, .lease = lease}); }
  Call& release(const Key& key, Fence fence) { return add(key, ReleaseCall{.fence = fence}); }
  Call& sweep(std::size_t limit) { return add({}, SweepCall{.limit = limit}); }

  void run() {
    std::vector<Call*> calls;
    for (const auto& call : calls_) calls.push_back(call.get());
    run_batch(
        calls, ledger_, now_,
        [this] {
          ++acknowledged_;
          commits_when_acknowledged_ = ledger_.commits;
        },
        recent_);
    done_.insert(done_.end(), std::make_move_iterator(calls_.begin()), std::make_move_iterator(calls_.end()));
    calls_.clear();
  }

  static const Result<Claim>& claimed(const Call& call) { return std::get<ClaimCall>(call.request).answer; }
  static bool granted(const Call& call) { return claimed(call) && std::holds_alternative<Granted>(*claimed(call)); }
  static bool held(const Call& call) { return claimed(call) && std::holds_alternative<Held>(*claimed(call)); }
  static Fence fence(const Call& call) { return std::get<Granted>(*claimed(call)).fence; }
  static const Result<void>& completed(const Call& call) { return std::get<CompleteCall>(call.request).answer; }
  static std::size_t swept(const Call& call) { return *std::get<SweepCall>(call.request).answer; }

  FakeLedger ledger_;
  RecentWrites* recent_ = nullptr;
  Time now_ = start;
  int acknowledged_ = 0;
  int commits_when_acknowledged_ = 0;

 private:
  template <class Request>
  Call& add(Key key, Request request) {
    calls_.push_back(std::make_unique<Call>(Call{.key = std::move(key), .request = std::move(request)}));
    return *calls_.back();
  }

  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<std::unique_ptr<Call>> done_;
};

// Goal: of several claims of one key in one batch the first wins, and the others are told of it.
TEST_F(BatchTest, HasOneWinnerPerKey) {
  const Call& first = claim(key(1), 11);
  const Call& second = claim(key(1), 12);
  const Call& other = claim(key(2), 13);
  run();
  EXPECT_TRUE(granted(first));
  ASSERT_TRUE(held(second));
  EXPECT_EQ(std::get<Held>(*claimed(second)).record.fence, fence(first));
  EXPECT_TRUE(granted(other));
  EXPECT_EQ(ledger_.commits, 1);
}

// Goal: a whole life of a key within one batch is judged in order and written as its end, once.
TEST_F(BatchTest, WritesTheLastStateOfAKeyOnce) {
  const Call& first = claim(key(1), 11);
  release(key(1), {.number = 1, .owner = 11});
  const Call& second = claim(key(1), 12);
  const Call& end = complete(key(1), {.number = 2, .owner = 12}, "second");
  const Call& late = complete(key(1), {.number = 1, .owner = 11}, "first");
  run();
  EXPECT_TRUE(granted(first));
  EXPECT_EQ(fence(second).number, 2U);
  EXPECT_TRUE(completed(end));
  ASSERT_FALSE(completed(late));
  EXPECT_EQ(completed(late).error().code, Code::fenced);
  EXPECT_EQ(ledger_.last_commit, std::vector<Digest>{key(1).id});
  EXPECT_EQ(ledger_.records.at(key(1).id).response->body, "second");
  EXPECT_EQ(ledger_.index.size(), 1U);
}

// Goal: acknowledge() comes once, after the commit, and also when nothing had to be written.
TEST_F(BatchTest, AcknowledgesAfterTheCommit) {
  claim(key(1), 11);
  run();
  EXPECT_EQ(acknowledged_, 1);
  EXPECT_EQ(commits_when_acknowledged_, 1);
  const Call& second = claim(key(1), 12);
  run();
  EXPECT_TRUE(held(second));
  EXPECT_EQ(acknowledged_, 2);
  EXPECT_EQ(ledger_.commits, 1) << "a batch that changes nothing writes nothing";
}

// Goal: when the commit fails, nobody is told anything that rests on it; what was durable before may still be told.
TEST_F(BatchTest, FailsWhatDependsOnAFailedCommit) {
  claim(key(1), 11);
  run();
  ledger_.broken = true;
  const Call& winner = claim(key(2), 21);
  const Call& loser = claim(key(2), 22);
  const Call& reader = claim(key(1), 12);
  const Call& stranger = complete(key(1), {.number = 9, .owner = 9}, "never");
  run();
  EXPECT_EQ(claimed(winner).error().code, Code::unavailable);
  EXPECT_EQ(claimed(loser).error().code, Code::unavailable);
  EXPECT_TRUE(held(reader));
  EXPECT_EQ(completed(stranger).error().code, Code::fenced);
}

// Goal: without room no claim is granted, but whoever runs may end.
TEST_F(BatchTest, EndsClaimsWhenThereIsNoRoomForNewOnes) {
  const Call& running = claim(key(1), 11);
  run();
  ledger_.full = true;
  const Call& refused = claim(key(2), 21);
  const Call& reader = claim(key(1), 12);
  const Call& renewed = renew(key(1), fence(running));
  const Call& ended = complete(key(1), fence(running), "end");
  run();
  EXPECT_EQ(claimed(refused).error().code, Code::full);
  EXPECT_TRUE(held(reader));
  EXPECT_TRUE(std::get<RenewCall>(renewed.request).answer);
  EXPECT_TRUE(completed(ended));
  EXPECT_FALSE(ledger_.records.contains(key(2).id));
}

// Goal: a record that cannot be read blocks every call on its key and no call on another.
TEST_F(BatchTest, ACorruptRecordBlocksItsKeyOnly) {
  ledger_.corrupt.insert(key(1).id);
  const Call& blocked = claim(key(1), 11, Terms::Lapsed::taken_over);
  const Call& ending = complete(key(1), {.number = 1, .owner = 1}, "never");
  const Call& other = claim(key(2), 21);
  run();
  EXPECT_EQ(claimed(blocked).error().code, Code::corrupt);
  EXPECT_EQ(completed(ending).error().code, Code::corrupt);
  EXPECT_TRUE(granted(other));
}

// Goal: sweeping removes what has expired, up to the limit, earliest first.
TEST_F(BatchTest, SweepsUpToTheLimit) {
  for (std::uint8_t i = 0; i < 10; ++i) {
    claim(key(i), i);
    now_ += Millis{1};
    run();
  }
  now_ = start + ttl + lease + Millis{20};
  const Call& some = sweep(4);
  run();
  EXPECT_EQ(swept(some), 4U);
  EXPECT_FALSE(ledger_.records.contains(key(3).id));
  EXPECT_TRUE(ledger_.records.contains(key(4).id));
  const Call& rest = sweep(100);
  const Call& none = sweep(100);
  run();
  EXPECT_EQ(swept(rest), 6U);
  EXPECT_EQ(swept(none), 0U);
  EXPECT_TRUE(ledger_.records.empty());
  EXPECT_TRUE(ledger_.index.empty());
}

// Goal: the index is a hint. What lives, was claimed anew in this very batch, or cannot be read, is not swept, and does
// not keep what lies behind it from being swept.
TEST_F(BatchTest, SweepJudgesEachRecordAsItIsNow) {
  const Call& alive = claim(key(1), 11);
  claim(key(2), 21);
  claim(key(3), 31);
  claim(key(4), 41);
  run();
  const Fence kept = fence(alive);
  while (now_ < start + ttl) {
    now_ += lease - Millis{1};
    renew(key(1), kept);
    run();
  }
  ledger_.corrupt.insert(key(3).id);
  const Call& again = claim(key(2), 22);
  const Call& sweeper = sweep(1);
  run();
  EXPECT_TRUE(granted(again));
  EXPECT_EQ(swept(sweeper), 1U);
  EXPECT_TRUE(ledger_.records.contains(key(1).id)) << "its lease is alive";
  EXPECT_EQ(ledger_.records.at(key(2).id).fence.owner, 22U);
  EXPECT_TRUE(ledger_.records.contains(key(3).id)) << "it cannot be read";
  EXPECT_FALSE(ledger_.records.contains(key(4).id));
}

// Goal: an index entry whose record is gone, or was made anew, is removed alone.
TEST_F(BatchTest, SweepRemovesEntriesThatOutlivedTheirRecord) {
  claim(key(1), 11);
  run();
  const Record record = ledger_.records.at(key(1).id);
  ledger_.index.insert({.at = start, .id = key(1).id});
  ledger_.index.insert({.at = start, .id = key(2).id});
  sweep(10);
  run();
  EXPECT_EQ(ledger_.records.at(key(1).id), record);
  EXPECT_EQ(ledger_.index, (std::set<Expiry>{{.at = record.expires_at, .id = key(1).id}}));
}

// Goal: a batch of any size keeps its keys apart.
TEST_F(BatchTest, TakesLargeBatches) {
  std::vector<const Call*> calls;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    Key each = key(0);
    each.id[8] = static_cast<std::uint8_t>(i % 1000 & 0xFFU);  // not where the place in the table comes from: all clash
    each.id[9] = static_cast<std::uint8_t>(i % 1000 >> 8U);
    calls.push_back(&claim(each, i + 1));
  }
  run();
  for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(granted(*calls[i]), i < 1000) << i;
  EXPECT_EQ(ledger_.records.size(), 1000U);
}

class RecentBatchTest : public BatchTest {
 protected:
  RecentBatchTest() { recent_ = &recently_; }

  // A caller that looked for itself and found nothing.
  Call& claim_after_look(const Key& key, std::uint64_t owner) {
    Call& call = claim(key, owner);
    std::get<ClaimCall>(call.request).absent_at = recently_.version();
    return call;
  }

  RecentWrites recently_;
};

// Goal: the usual pair, a new claim and its completion, asks the ledger for nothing.
TEST_F(RecentBatchTest, NeedsNoReadForAClaimAndItsCompletion) {
  const Call& claimer = claim_after_look(key(1), 11);
  run();
  const Call& ended = complete(key(1), fence(claimer), "end");
  run();
  EXPECT_TRUE(completed(ended));
  EXPECT_EQ(ledger_.reads, 0);
  EXPECT_EQ(ledger_.records.at(key(1).id).response->body, "end");
}

// Goal: a look that is older than a write to the key counts for nothing.
TEST_F(RecentBatchTest, DoesNotTrustALookFromBeforeAWrite) {
  const std::uint64_t before = recently_.version();
  claim_after_look(key(1), 11);
  run();
  Call& late = claim(key(1), 12);
  std::get<ClaimCall>(late.request).absent_at = before;
  run();
  EXPECT_TRUE(held(late));
}

// Goal: a claim that has ended is not taken from memory as running.
TEST_F(RecentBatchTest, ForgetsAClaimWhenItEnds) {
  const Call& claimer = claim_after_look(key(1), 11);
  run();
  complete(key(1), fence(claimer), "end");
  run();
  const Call& late = complete(key(1), {.number = 2, .owner = 2}, "never");
  run();
  EXPECT_EQ(completed(late).error().code, Code::fenced);
  const Call& other = claim(key(1), 12);
  run();
  EXPECT_EQ(std::get<Held>(*claimed(other)).record.state, Record::State::done);
  now_ += ttl;
  sweep(10);
  run();
  const Call& anew = claim(key(1), 13);
  run();
  EXPECT_EQ(fence(anew).number, 1U);
}

// Goal: what a failed commit would have written is not remembered.
TEST_F(RecentBatchTest, RemembersNothingOfAFailedCommit) {
  ledger_.broken = true;
  claim_after_look(key(1), 11);
  run();
  ledger_.broken = false;
  const Call& other = claim_after_look(key(1), 12);
  run();
  EXPECT_TRUE(granted(other));
  EXPECT_EQ(fence(other).number, 1U);
}

}  // namespace
}  // namespace semel::test
