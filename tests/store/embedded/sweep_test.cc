// Giving space back: by sweeping, which costs what has expired, and by compaction, which only takes what is safe.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

#include "core/codec.h"
#include "store/embedded/batch.h"
#include "store/embedded/expiry_filter.h"
#include "store/embedded/fixture.h"
#include "store/embedded/rocks_ledger.h"

namespace semel::test {
namespace {

using EmbeddedSweep = EmbeddedTest;

constexpr Millis minute{60'000};
constexpr Millis hour{3'600'000};

Record record_of(const Key& key, Record::State state, Time expires_at) {
  Record record;
  record.key = key;
  record.state = state;
  record.expires_at = expires_at;
  if (state == Record::State::done) record.response = std::make_shared<Response>();
  return record;
}

bool filtered(const store::embedded::ExpiryFilter& filter, const std::string& bytes) {
  std::string ignored;
  bool changed = false;
  return filter.Filter(0, rocksdb::Slice(), bytes, &ignored, &changed);
}

// Goal: compaction takes ended records an hour past their expiry, to the millisecond, and nothing else, ever.
TEST_F(EmbeddedSweep, CompactionTakesOnlyWhatEndedLongAgo) {
  store::embedded::ExpiryFilter filter;
  const Time expiry = clock_.now();
  for (const Record::State state :
       {Record::State::running, Record::State::done, Record::State::unknown, Record::State::released}) {
    const bool ended = state == Record::State::done || state == Record::State::released;
    const std::string bytes = core::encode(record_of(key(1), state, expiry));
    filter.set_time(expiry + hour - Millis{1});
    EXPECT_FALSE(filtered(filter, bytes));
    filter.set_time(expiry + hour);
    EXPECT_EQ(filtered(filter, bytes), ended);
    filter.set_time(expiry + 100'000 * hour);
    EXPECT_EQ(filtered(filter, bytes), ended);
    EXPECT_FALSE(filtered(filter, bytes.substr(0, 20))) << "what cannot be understood is not touched";
    EXPECT_FALSE(filtered(filter, "x" + bytes));
  }
}

// Goal: the same through the engine: after a full compaction the running and unknown records are still there, the
// expired ones are gone, their keys begin anew, and sweeping clears what the index still holds of them.
TEST_F(EmbeddedSweep, RecordsAndIndexAgreeAfterACompaction) {
  open();
  const Terms brief{.lease = minute, .ttl = minute};
  for (std::uint64_t i = 0; i < 100; ++i) finish(key(i), "ended", brief);
  take(key(200), {.lease = 1000 * hour, .ttl = minute});
  ASSERT_TRUE(complete(key(201), take(key(201), brief), nullptr));
  close();
  clock_.advance(2 * hour);
  with_engine(clock_.now(), [&](const Engine& engine) {
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_TRUE(engine.db.CompactRange(all, engine.records, nullptr, nullptr).ok());
    const std::unique_ptr<rocksdb::Iterator> it(engine.db.NewIterator({}, engine.records));
    std::size_t left = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++left;
    EXPECT_EQ(left, 2U);
  });
  open();
  EXPECT_EQ(look(key(200)).record.state, Record::State::running);
  EXPECT_EQ(take(key(5)).number, 1U);
  EXPECT_EQ(sweep(1000), 101U) << "the unknown record, and what the index held of the others";
  EXPECT_EQ(sweep(1000), 0U);
  EXPECT_EQ(look(key(5)).record.fence.number, 1U) << "a key claimed anew is not swept by its old entry";
  EXPECT_EQ(look(key(200)).record.state, Record::State::running);
}

// Goal: a sweep touches what has expired, not what is stored, and does not walk over what it deleted before.
TEST_F(EmbeddedSweep, CostsWhatHasExpired) {
  const Result<std::unique_ptr<store::embedded::RocksLedger>> ledger =
      store::embedded::RocksLedger::open(clock_, options_);
  ASSERT_TRUE(ledger);
  const auto put = [&](std::uint64_t from, std::uint64_t count, Millis ttl) {
    std::vector<store::embedded::Change> changes;
    for (std::uint64_t i = from; i < from + count; ++i) {
      Record record = record_of(key(i), Record::State::done, clock_.now() + ttl);
      changes.push_back({.id = record.key.id, .record = std::move(record), .replaced_expiry = std::nullopt});
    }
    ASSERT_TRUE((*ledger)->commit(changes));
  };
  const auto swept = [&](std::size_t limit) {
    store::StoreCall call{.key = {}, .request = store::SweepCall{.limit = limit}};
    const std::vector<store::embedded::BatchCall> calls{{.call = &call}};
    store::embedded::run_batch(calls, **ledger, clock_.now(), [] {});
    return std::get<store::SweepCall>(call.request).answer.value_or(SIZE_MAX);
  };
  put(0, 20'000, 100 * hour);
  put(20'000, 5'000, minute);
  clock_.advance(minute);
  ASSERT_EQ(swept(10'000), 5'000U);
  ASSERT_EQ(swept(10'000), 0U);  // learns where the index begins now

  put(30'000, 100, minute);
  clock_.advance(minute);
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  EXPECT_EQ(swept(10'000), 100U);
  const auto& counts = *rocksdb::get_perf_context();
  EXPECT_LE(counts.internal_delete_skipped_count + counts.internal_key_skipped_count, 300U);
  EXPECT_LE(counts.next_on_memtable_count, 600U);
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
}

}  // namespace
}  // namespace semel::test
