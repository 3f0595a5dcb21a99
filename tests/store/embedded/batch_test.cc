// The rules of a group commit, over a ledger that counts and fails on demand.
#include "store/embedded/batch.h"

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

#include "store/embedded/fake_ledger.h"
#include "store/embedded/recent_writes.h"

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
  store::StoreCall& claim(const Key& key, std::uint64_t owner, Terms::Lapsed lapsed = Terms::Lapsed::stands) {
    const Terms terms{.lease = lease, .ttl = ttl, .lapsed = lapsed, .owner = owner};
    return add(key, store::ClaimCall{.fingerprint = {}, .terms = terms});
  }
  store::StoreCall& complete(const Key& key, Fence fence, const std::string& body) {
    return add(key, store::CompleteCall{.fence = fence, .response = response(body)});
  }
  store::StoreCall& renew(const Key& key, Fence fence) {
    return add(key, store::RenewCall{.fence = fence, .lease = lease});
  }
  store::StoreCall& release(const Key& key, Fence fence) { return add(key, store::ReleaseCall{.fence = fence}); }
  store::StoreCall& sweep(std::size_t limit) { return add({}, store::SweepCall{.limit = limit}); }

  void run() {
    std::vector<store::embedded::BatchCall> calls;
    for (const auto& asked : calls_) calls.push_back({.call = &asked->call, .absent_at = asked->absent_at});
    store::embedded::run_batch(
        calls, ledger_, now_,
        [this] {
          ++acknowledged_;
          commits_when_acknowledged_ = ledger_.commits;
        },
        recent_);
    done_.insert(done_.end(), std::make_move_iterator(calls_.begin()), std::make_move_iterator(calls_.end()));
    calls_.clear();
  }

  static const Result<Claim>& claimed(const store::StoreCall& call) {
    return std::get<store::ClaimCall>(call.request).answer;
  }
  static bool granted(const store::StoreCall& call) {
    return claimed(call) && std::holds_alternative<Granted>(*claimed(call));
  }
  static bool held(const store::StoreCall& call) {
    return claimed(call) && std::holds_alternative<Held>(*claimed(call));
  }
  static Fence fence(const store::StoreCall& call) { return std::get<Granted>(*claimed(call)).fence; }
  static const Result<void>& completed(const store::StoreCall& call) {
    return std::get<store::CompleteCall>(call.request).answer;
  }
  static std::size_t swept(const store::StoreCall& call) { return *std::get<store::SweepCall>(call.request).answer; }

  // The caller of the last call had looked for itself and found nothing, at that version.
  void absent_at(std::uint64_t version) { calls_.back()->absent_at = version; }

  FakeLedger ledger_;
  store::embedded::RecentWrites* recent_ = nullptr;
  Time now_ = start;
  int acknowledged_ = 0;
  int commits_when_acknowledged_ = 0;

 private:
  struct Asked {
    store::StoreCall call;
    std::optional<std::uint64_t> absent_at;
  };

  template <class Request>
  store::StoreCall& add(Key key, Request request) {
    calls_.push_back(
        std::make_unique<Asked>(store::StoreCall{.key = std::move(key), .request = std::move(request)}, std::nullopt));
    return calls_.back()->call;
  }

  std::vector<std::unique_ptr<Asked>> calls_;
  std::vector<std::unique_ptr<Asked>> done_;
};

// Goal: of several claims of one key in one batch the first wins, and the others are told of it.
TEST_F(BatchTest, HasOneWinnerPerKey) {
  const store::StoreCall& first = claim(key(1), 11);
  const store::StoreCall& second = claim(key(1), 12);
  const store::StoreCall& other = claim(key(2), 13);
  run();
  EXPECT_TRUE(granted(first));
  ASSERT_TRUE(held(second));
  EXPECT_EQ(std::get<Held>(*claimed(second)).record.fence, fence(first));
  EXPECT_TRUE(granted(other));
  EXPECT_EQ(ledger_.commits, 1);
}

// Goal: a whole life of a key within one batch is judged in order and written as its end, once.
TEST_F(BatchTest, WritesTheLastStateOfAKeyOnce) {
  const store::StoreCall& first = claim(key(1), 11);
  release(key(1), {.number = 1, .owner = 11});
  const store::StoreCall& second = claim(key(1), 12);
  const store::StoreCall& end = complete(key(1), {.number = 2, .owner = 12}, "second");
  const store::StoreCall& late = complete(key(1), {.number = 1, .owner = 11}, "first");
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
  const store::StoreCall& second = claim(key(1), 12);
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
  const store::StoreCall& winner = claim(key(2), 21);
  const store::StoreCall& loser = claim(key(2), 22);
  const store::StoreCall& reader = claim(key(1), 12);
  const store::StoreCall& stranger = complete(key(1), {.number = 9, .owner = 9}, "never");
  run();
  EXPECT_EQ(claimed(winner).error().code, Code::unavailable);
  EXPECT_EQ(claimed(loser).error().code, Code::unavailable);
  EXPECT_TRUE(held(reader));
  EXPECT_EQ(completed(stranger).error().code, Code::fenced);
}

// Goal: without room no claim is granted, but whoever runs may end.
TEST_F(BatchTest, EndsClaimsWhenThereIsNoRoomForNewOnes) {
  const store::StoreCall& running = claim(key(1), 11);
  run();
  ledger_.full = true;
  const store::StoreCall& refused = claim(key(2), 21);
  const store::StoreCall& reader = claim(key(1), 12);
  const store::StoreCall& renewed = renew(key(1), fence(running));
  const store::StoreCall& ended = complete(key(1), fence(running), "end");
  run();
  EXPECT_EQ(claimed(refused).error().code, Code::full);
  EXPECT_TRUE(held(reader));
  EXPECT_TRUE(std::get<store::RenewCall>(renewed.request).answer);
  EXPECT_TRUE(completed(ended));
  EXPECT_FALSE(ledger_.records.contains(key(2).id));
}

// Goal: a record that cannot be read blocks every call on its key and no call on another.
TEST_F(BatchTest, ACorruptRecordBlocksItsKeyOnly) {
  ledger_.corrupt.insert(key(1).id);
  const store::StoreCall& blocked = claim(key(1), 11, Terms::Lapsed::taken_over);
  const store::StoreCall& ending = complete(key(1), {.number = 1, .owner = 1}, "never");
  const store::StoreCall& other = claim(key(2), 21);
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
  const store::StoreCall& some = sweep(4);
  run();
  EXPECT_EQ(swept(some), 4U);
  EXPECT_FALSE(ledger_.records.contains(key(3).id));
  EXPECT_TRUE(ledger_.records.contains(key(4).id));
  const store::StoreCall& rest = sweep(100);
  const store::StoreCall& none = sweep(100);
  run();
  EXPECT_EQ(swept(rest), 6U);
  EXPECT_EQ(swept(none), 0U);
  EXPECT_TRUE(ledger_.records.empty());
  EXPECT_TRUE(ledger_.index.empty());
}

// Goal: the index is a hint. What lives, was claimed anew in this very batch, or cannot be read, is not swept, and does
// not keep what lies behind it from being swept.
TEST_F(BatchTest, SweepJudgesEachRecordAsItIsNow) {
  const store::StoreCall& alive = claim(key(1), 11);
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
  const store::StoreCall& again = claim(key(2), 22);
  const store::StoreCall& sweeper = sweep(1);
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
  EXPECT_EQ(ledger_.index, (std::set<store::embedded::Expiry>{{.at = record.expires_at, .id = key(1).id}}));
}

// Goal: a batch of any size keeps its keys apart.
TEST_F(BatchTest, TakesLargeBatches) {
  std::vector<const store::StoreCall*> calls;
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
  store::StoreCall& claim_after_look(const Key& key, std::uint64_t owner) {
    store::StoreCall& call = claim(key, owner);
    absent_at(recently_.version());
    return call;
  }

  store::embedded::RecentWrites recently_;
};

// Goal: the usual pair, a new claim and its completion, asks the ledger for nothing.
TEST_F(RecentBatchTest, NeedsNoReadForAClaimAndItsCompletion) {
  const store::StoreCall& claimer = claim_after_look(key(1), 11);
  run();
  const store::StoreCall& ended = complete(key(1), fence(claimer), "end");
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
  const store::StoreCall& late = claim(key(1), 12);
  absent_at(before);
  run();
  EXPECT_TRUE(held(late));
}

// Goal: a claim that has ended is not taken from memory as running.
TEST_F(RecentBatchTest, ForgetsAClaimWhenItEnds) {
  const store::StoreCall& claimer = claim_after_look(key(1), 11);
  run();
  complete(key(1), fence(claimer), "end");
  run();
  const store::StoreCall& late = complete(key(1), {.number = 2, .owner = 2}, "never");
  run();
  EXPECT_EQ(completed(late).error().code, Code::fenced);
  const store::StoreCall& other = claim(key(1), 12);
  run();
  EXPECT_EQ(std::get<Held>(*claimed(other)).record.state, Record::State::done);
  now_ += ttl;
  sweep(10);
  run();
  const store::StoreCall& anew = claim(key(1), 13);
  run();
  EXPECT_EQ(fence(anew).number, 1U);
}

// Goal: what a failed commit would have written is not remembered.
TEST_F(RecentBatchTest, RemembersNothingOfAFailedCommit) {
  ledger_.broken = true;
  claim_after_look(key(1), 11);
  run();
  ledger_.broken = false;
  const store::StoreCall& other = claim_after_look(key(1), 12);
  run();
  EXPECT_TRUE(granted(other));
  EXPECT_EQ(fence(other).number, 1U);
}

}  // namespace
}  // namespace semel::test
