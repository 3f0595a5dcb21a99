// What the engine keeps in memory of the inbox: its data blocks have room beside the indexes and filters of large
// files.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/status.h>

#include "store/embedded/rocks_options.h"

namespace semel::test {
namespace {

constexpr std::size_t keys = 1'500'000;
constexpr std::size_t step = 7'507;  // of those that are read, each in a block of its own

std::string key_of(std::size_t number) {
  const std::string digits = std::to_string(number);
  return "e" + std::string(16 - digits.size(), '0') + digits;
}

class EngineCache : public testing::Test {
 protected:
  EngineCache() {
    folder_ = std::filesystem::temp_directory_path() / ("semel-cache-" + std::to_string(std::random_device{}()));
    rocksdb::Options options(rocksdb::DBOptions{}, store::embedded::inbox_options());
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, folder_.string(), &opened).ok());
    db_.reset(opened);
  }
  ~EngineCache() override {
    db_.reset();
    std::filesystem::remove_all(folder_);
  }
  EngineCache(const EngineCache&) = delete;
  EngineCache& operator=(const EngineCache&) = delete;

  // Blocks that are read from the file for some of the keys.
  std::size_t blocks_read() {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
    std::string value;
    for (std::size_t i = 0; i < keys; i += step) EXPECT_TRUE(db_->Get({}, key_of(i), &value).ok());
    const std::size_t read = rocksdb::get_perf_context()->block_read_count;
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    return read;
  }

  std::filesystem::path folder_;
  std::unique_ptr<rocksdb::DB> db_;
};

// The filter and the index of one large file are each larger than what a shard of the cache holds. Were they in it, the
// blocks that share the shard would be thrown away with every look.
TEST_F(EngineCache, HoldsBlocksBesideLargeFiles) {
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  for (std::size_t i = 0; i < keys; ++i) ASSERT_TRUE(db_->Put(unlogged, key_of(i), std::string()).ok());
  ASSERT_TRUE(db_->CompactRange({}, nullptr, nullptr).ok());
  EXPECT_GE(blocks_read(), keys / step);
  EXPECT_EQ(blocks_read(), 0U);
}

}  // namespace
}  // namespace semel::test
