// The history of an embedded store: a RocksDB of its own, in the folder `history` of the store's folder.
//
// It is apart from the records on purpose. A column family of their database would share its write-ahead log: each
// write would stand in line with the committer's, what is not synced would be counted by the marker (wal_marker.h),
// and an older Semel could not open the store any more. This one may be damaged, or be deleted, and no key suffers: a
// damaged one is set aside as `history.damaged`, and a new one is begun.
//
// All work is done on a thread of its own, in the order in which it came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/db.h>

#include "store/aside.h"
#include "store/embedded/disk_space.h"
#include "store/history.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {

class EmbeddedHistory : public History {
 public:
  // Nothing is added while less than `free_bytes_min` of the disk is free. Null if there cannot be one: that must keep
  // no store from being opened.
  static std::unique_ptr<EmbeddedHistory> open(const Clock& clock, const std::filesystem::path& folder,
                                               std::uint64_t free_bytes_min);

  Async<void> append(std::vector<HistoryRow> rows) override;
  Async<std::vector<HistoryRow>> read(HistoryKind kind, std::string subject, HistorySpan span,
                                      std::size_t limit) override;
  Async<HistoryPage> scan(HistoryKind kind, HistorySpan span, std::string cursor, std::size_t limit) override;
  Async<void> prune(HistoryKind kind, Time before) override;

 private:
  EmbeddedHistory(const Clock& clock, std::unique_ptr<rocksdb::DB> db, const std::filesystem::path& folder,
                  std::uint64_t free_bytes_min)
      : clock_(clock), db_(std::move(db)), space_(folder, free_bytes_min) {}

  Result<void> append_now(const std::vector<HistoryRow>& rows);
  Result<std::vector<HistoryRow>> read_now(HistoryKind kind, const std::string& subject, HistorySpan span,
                                           std::size_t limit) const;
  Result<HistoryPage> scan_now(HistoryKind kind, HistorySpan span, const std::string& cursor, std::size_t limit) const;
  Result<void> prune_now(HistoryKind kind, Time before);

  const Clock& clock_;
  std::unique_ptr<rocksdb::DB> db_;
  DiskSpace space_;
  Aside aside_;  // last: its thread uses the above
};

}  // namespace semel::store::embedded
