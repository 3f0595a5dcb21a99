// What is listed as running or unknown: from memory and from the engine, over crashes, and at what cost.
//
// Closing a store writes nothing: what follows a reopen is what follows a crash.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>

#include "core/settlement.h"
#include "store/capable_store.h"
#include "store/desk.h"
#include "store/embedded/fixture.h"
#include "store/embedded/store.h"
#include "support/run.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::test {
namespace {

using Wanted = store::KeyFilter::Wanted;
using Ids = std::vector<Digest>;

constexpr Millis minute{60'000};
constexpr Millis long_lease{3'600'000};

class UnsettledKeys : public EmbeddedTest {
 protected:
  void open_desk() {
    Result<store::CapableStore> opened = store::embedded::open_with_keys(clock_, options_, {});
    if (!opened) throw std::runtime_error(opened.error().detail);
    desk_ = opened->desk;
    store_ = std::move(opened->store);
  }
  void crash() {
    close();
    open_desk();
  }

  Ids list(Wanted wanted, std::size_t items_max = 100) {
    store::KeyFilter filter;
    filter.wanted = wanted;
    filter.items_max = items_max;
    Ids ids;
    std::string cursor;
    do {
      const Result<store::KeyList> page = run(context_, desk_->list(filter, cursor));
      if (!page) throw std::runtime_error(page.error().detail);
      for (const Held& held : page->items) ids.push_back(held.record.key.id);
      cursor = page->cursor;
    } while (!cursor.empty());
    return ids;
  }

  // Of the closed store.
  std::size_t index_entries() {
    std::size_t count = 0;
    with_engine(clock_.now(), [&](const Engine& engine) {
      const std::unique_ptr<rocksdb::Iterator> it(engine.db.NewIterator({}, engine.index));
      for (it->Seek("u"); it->Valid() && it->key().starts_with("u"); it->Next()) ++count;
    });
    return count;
  }
  std::uint64_t writes() {
    std::uint64_t count = 0;
    with_engine(clock_.now(), [&](const Engine& engine) { count = engine.db.GetLatestSequenceNumber(); });
    return count;
  }

  store::Desk* desk_ = nullptr;
};

// Goal: what ran when the process died is listed when the store is opened again, and what had ended is not; also when
// the engine has written tables in between, and after the next crash.
TEST_F(UnsettledKeys, WhatRanWhenTheProcessDiedIsListed) {
  open_desk();
  const Fence ends = take(key(1), {.lease = long_lease});
  take(key(2), {.lease = Millis{500}});
  take(key(3), {.lease = long_lease});
  finish(key(4), "done");
  ASSERT_TRUE(complete(key(5), take(key(5)), nullptr));
  close();
  with_engine(clock_.now(), [](const Engine& engine) {
    ASSERT_TRUE(engine.db.Flush({}, {engine.index, engine.records}).ok());
    ASSERT_TRUE(engine.db.CompactRange({}, engine.records, nullptr, nullptr).ok());
  });
  open_desk();
  clock_.advance(Millis{1});
  ASSERT_TRUE(complete(key(1), ends, response("late, but in its lease")));
  take(key(6), {.lease = long_lease});
  for (int crashes = 0; crashes < 3; ++crashes) {
    crash();
    EXPECT_EQ(list(Wanted::running, 1).size(), crashes == 0 ? 3U : 2U);
    clock_.advance(Millis{500});
    EXPECT_EQ(list(Wanted::running), (Ids{key(3).id, key(6).id}));
    const Ids unknown = list(Wanted::unknown);
    EXPECT_EQ(std::set(unknown.begin(), unknown.end()), (std::set{key(2).id, key(5).id}));
    EXPECT_EQ(unknown.size(), 2U);
  }
}

// Goal: a claim that ends soon writes its record twice and its expiry once, and nothing for the lists.
TEST_F(UnsettledKeys, AClaimThatEndsSoonCostsTheIndexNothing) {
  constexpr std::uint64_t pairs = 100;
  open_desk();
  finish(key(0), "the time mark");
  close();
  const std::uint64_t before = writes();
  open_desk();
  for (std::uint64_t i = 1; i <= pairs; ++i) finish(key(i), "one");
  EXPECT_TRUE(list(Wanted::running).empty());
  close();
  EXPECT_LE(writes() - before, 3 * pairs + 1);
}

// Goal: what runs for long does not stay in memory alone, is listed once, and leaves the index when it ends.
TEST_F(UnsettledKeys, WhatRunsForLongIsWrittenDown) {
  open_desk();
  const Fence ends = take(key(1), {.lease = long_lease});
  take(key(2), {.lease = long_lease});
  const Fence renewed = take(key(3), {.lease = long_lease});
  clock_.advance(minute);
  ASSERT_TRUE(renew(key(3), renewed, long_lease));  // the commit that notices; it leaves its own key for the next
  EXPECT_EQ(list(Wanted::running).size(), 3U);
  crash();
  EXPECT_EQ(list(Wanted::running).size(), 3U);
  close();
  EXPECT_EQ(index_entries(), 2U);
  open_desk();
  clock_.advance(minute);
  ASSERT_TRUE(complete(key(1), ends, response("at last")));
  EXPECT_EQ(list(Wanted::running, 1).size(), 2U);
  close();
  EXPECT_EQ(index_entries(), 2U);
  open_desk();
  ASSERT_TRUE(complete(key(3), renewed, nullptr));
  EXPECT_EQ(list(Wanted::unknown), Ids{key(3).id});
  EXPECT_EQ(list(Wanted::running), Ids{key(2).id});
}

// Goal: a key that becomes unknown long after its claim is listed, although lists before it found nothing so old.
TEST_F(UnsettledKeys, AnOldClaimThatEndsUnknownIsListed) {
  open_desk();
  const Fence old = take(key(1), {.lease = long_lease});
  clock_.advance(Millis{10});
  ASSERT_TRUE(complete(key(2), take(key(2)), nullptr));
  EXPECT_EQ(list(Wanted::unknown), Ids{key(2).id});
  EXPECT_EQ(list(Wanted::unknown), Ids{key(2).id});
  ASSERT_TRUE(complete(key(1), old, nullptr));
  EXPECT_EQ(list(Wanted::unknown), (Ids{key(1).id, key(2).id}));
}

// Sixty keys in the hands of chance.
class KeysByChance : public UnsettledKeys {
 protected:
  static constexpr std::uint64_t keys = 60;

  void begin(std::uint64_t seed) {
    chance_.seed(seed);
    first_ = 1'000 * seed;
    fences_.clear();
    open_desk();
  }
  std::uint64_t below(std::uint64_t limit) { return chance_() % limit; }

  // One of the keys is claimed, ended in some way or settled; or time passes; or the process dies.
  void act() {
    const std::uint64_t number = first_ + below(keys);
    const Key one = key(number);
    const Fence fence = fences_[number];
    switch (below(9)) {
      case 0:
        (void)complete(one, fence, response("done"));
        break;
      case 1:
        (void)complete(one, fence, nullptr);
        break;
      case 2:
        (void)run(context_, store_->release(one, fence));
        break;
      case 3: {
        core::Settlement by;
        by.fence = fence;
        by.verdict = core::Settlement::Verdict::not_done;
        by.act = 1'000'000 + below(1'000'000);
        (void)run(context_, desk_->settle(one.id, by));
        break;
      }
      case 4:
        clock_.advance(Millis{below(4) == 0 ? 70'000 : 100});
        break;
      case 5:
        if (below(5) == 0) crash();
        if (below(5) == 0) sweep(100);
        break;
      default:
        claim_one(number);
    }
  }

  std::map<Wanted, std::set<Digest>> looked_at() {
    std::map<Wanted, std::set<Digest>> seen;
    for (std::uint64_t number = first_; number < first_ + keys; ++number) {
      const Digest id = key(number).id;
      const std::string text(reinterpret_cast<const char*>(id.data()), id.size());
      const Result<std::vector<Held>> found = run(context_, desk_->find(text, 1));
      if (!found) throw std::runtime_error(found.error().detail);
      if (found->empty()) continue;
      const Record::State state = found->front().record.state;
      if (state == Record::State::running) seen[Wanted::running].insert(id);
      if (state == Record::State::unknown) seen[Wanted::unknown].insert(id);
    }
    return seen;
  }

 private:
  void claim_one(std::uint64_t number) {
    Terms terms{.lease = below(2) == 0 ? long_lease : Millis{300}, .ttl = 20 * minute};
    if (below(2) == 0) terms.lapsed = Terms::Lapsed::taken_over;
    const Result<Claim> got = claim(key(number), terms);
    if (!got) throw std::runtime_error(got.error().detail);
    if (const auto* granted = std::get_if<Granted>(&*got)) fences_[number] = granted->fence;
  }

  std::mt19937_64 chance_;
  std::uint64_t first_ = 0;
  std::map<std::uint64_t, Fence> fences_;
};

// Goal: whatever happens to keys, lists show exactly what a look at each shows, and in the end no entry is left over.
TEST_F(KeysByChance, AreListedAsALookShowsThem) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    begin(seed);
    for (int step = 0; step < 250; ++step) {
      act();
      if (step % 10 != 0) continue;
      std::map<Wanted, std::set<Digest>> expected = looked_at();
      for (const Wanted wanted : {Wanted::running, Wanted::unknown}) {
        const Ids listed = list(wanted, 1 + below(20));
        EXPECT_EQ(std::set(listed.begin(), listed.end()), expected[wanted]) << "seed " << seed << ", step " << step;
        EXPECT_EQ(listed.size(), expected[wanted].size()) << "each once: seed " << seed << ", step " << step;
      }
    }
    clock_.advance(long_lease + 20 * minute);  // behind every lease and every expiry
    while (sweep(1'000) > 0) {
    }
    EXPECT_TRUE(list(Wanted::unknown).empty());
    close();
    EXPECT_EQ(index_entries(), 0U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace semel::test
