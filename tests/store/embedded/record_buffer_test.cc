// The engine's buffer for records, beside the engine's own: the same writes must read the same.
#include "store/embedded/record_buffer.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/status.h>

namespace semel::store::embedded {
namespace {

constexpr std::size_t key_bytes = 32;
constexpr std::size_t small_buffer_bytes = 256U << 10U;

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string key_of(std::uint64_t number) {
  std::mt19937_64 bytes(number);  // NOLINT(cert-msc51-cpp): the same key for the same number
  std::string key;
  while (key.size() < key_bytes) key.push_back(static_cast<char>(bytes()));
  return key;
}

class Engine {
 public:
  Engine(const std::filesystem::path& folder, std::shared_ptr<rocksdb::MemTableRepFactory> buffers) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.allow_concurrent_memtable_write = false;
    options.write_buffer_size = small_buffer_bytes;
    // Full buffers stay in memory until there are several, so that reading meets them.
    options.max_write_buffer_number = 8;
    options.min_write_buffer_number_to_merge = 4;
    if (buffers) {
      options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(key_bytes));
      options.memtable_factory = std::move(buffers);
    }
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(options, folder.string(), &opened);
    EXPECT_TRUE(status.ok()) << status.ToString();
    db_.reset(opened);
  }

  // Writes, overwrites and deletes, the same for the same seed.
  void write(std::uint64_t seed, std::size_t count) {
    std::mt19937_64 choose(seed);  // NOLINT(cert-msc51-cpp)
    for (std::size_t i = 0; i < count; ++i) {
      const std::string key = key_of(choose() % (count / 2));
      const bool removes = choose() % 5 == 0;
      const std::string value(choose() % 300, static_cast<char>('a' + choose() % 26));
      const rocksdb::Status status = removes ? db_->Delete({}, key) : db_->Put({}, key, value);
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
  }
  void flush() { ASSERT_TRUE(db_->Flush({}).ok()); }

  std::string get(const std::string& key) {
    std::string value;
    const rocksdb::Status status = db_->Get({}, key, &value);
    return status.ok() ? value : status.ToString();
  }
  Pairs forward() {
    Pairs all;
    const auto it = iterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) all.emplace_back(it->key().ToString(), it->value().ToString());
    return all;
  }
  Pairs backward() {
    Pairs all;
    const auto it = iterator();
    for (it->SeekToLast(); it->Valid(); it->Prev()) all.emplace_back(it->key().ToString(), it->value().ToString());
    return all;
  }
  std::string at_or_after(const std::string& key) {
    const auto it = iterator();
    it->Seek(key);
    return it->Valid() ? it->key().ToString() : "none";
  }
  std::string at_or_before(const std::string& key) {
    const auto it = iterator();
    it->SeekForPrev(key);
    return it->Valid() ? it->key().ToString() : "none";
  }

 private:
  std::unique_ptr<rocksdb::Iterator> iterator() {
    rocksdb::ReadOptions all;
    all.total_order_seek = true;
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(all));
  }
  std::unique_ptr<rocksdb::DB> db_;
};

class RecordBuffer : public testing::Test {
 protected:
  RecordBuffer() {
    std::string name = (std::filesystem::temp_directory_path() / "semel-buffer-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~RecordBuffer() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

// Whatever is asked, in whatever state the buffers are, the answers are those of RocksDB's default buffer.
TEST_F(RecordBuffer, ReadsAsTheEnginesOwnDoes) {
  Engine ours(folder_ / "ours", record_buffers(1U << 10U));
  Engine theirs(folder_ / "theirs", nullptr);
  constexpr std::size_t writes = 6'000;  // several buffers
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    ours.write(seed, writes);
    theirs.write(seed, writes);
    ASSERT_EQ(ours.forward(), theirs.forward());
    ASSERT_EQ(ours.backward(), theirs.backward());
    for (std::uint64_t number = 0; number < writes / 2; number += 7) {
      const std::string key = key_of(number);
      ASSERT_EQ(ours.get(key), theirs.get(key));
      ASSERT_EQ(ours.at_or_after(key), theirs.at_or_after(key));
      ASSERT_EQ(ours.at_or_before(key), theirs.at_or_before(key));
    }
    ours.flush();
    theirs.flush();
    ASSERT_EQ(ours.forward(), theirs.forward());
  }
  ASSERT_GT(ours.forward().size(), 1'000U);
}

}  // namespace
}  // namespace semel::store::embedded
