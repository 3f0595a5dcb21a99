// RocksDB in a folder: the opened database, its families, and what its own threads use.
//
// It knows nothing of what is kept in the families; rocks_ledger.h says that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include "store/embedded/expiry_filter.h"
#include "store/embedded/prepared_logs.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {

class RocksEngine {
 public:
  enum class Files : std::uint8_t { there, missing };  // of the engine; those that are missing are made

  // Code::corrupt: the files are damaged; nothing was dropped to get past that. Code::unavailable: they cannot be used.
  static Result<std::unique_ptr<RocksEngine>> open(const std::filesystem::path& folder, std::size_t cache_bytes,
                                                   Files files);
  ~RocksEngine();
  RocksEngine(const RocksEngine&) = delete;
  RocksEngine& operator=(const RocksEngine&) = delete;

  [[nodiscard]] rocksdb::DB& db() const { return *db_; }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* records() const { return records_; }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* index() const { return index_; }

  [[nodiscard]] rocksdb::ColumnFamilyHandle* inbox() const { return inbox_; }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* parcels() const { return parcels_; }

  // The write-ahead log that is written to.
  [[nodiscard]] const PreparedLogs::Newest& log() const { return logs_->newest(); }
  // Compaction reclaims what had expired at this time.
  void set_time(Time now) { filter_.set_time(now); }

 private:
  RocksEngine();

  ExpiryFilter filter_;  // used by the engine's threads
  std::shared_ptr<PreparedLogs> logs_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* records_ = nullptr;
  rocksdb::ColumnFamilyHandle* index_ = nullptr;
  rocksdb::ColumnFamilyHandle* inbox_ = nullptr;
  rocksdb::ColumnFamilyHandle* parcels_ = nullptr;
};

}  // namespace semel::store::embedded
