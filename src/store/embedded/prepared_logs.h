// Write-ahead logs whose space is allocated before it is needed.
//
// To sync a file that has grown, the file system also writes where its new blocks are and how long it is: two more
// writes, one after the other. A log that is written over zeros needs neither, so a sync costs half as much time and
// CPU. So this file system keeps the logs of the engine a little longer than their records. A log that was closed ends
// where its records end. After a crash it does not, and log_tail.h finds its end.
//
// All other files are left to the file system below.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <rocksdb/file_system.h>
#include <rocksdb/io_status.h>

namespace semel::store::embedded {

class PreparedLogs : public rocksdb::FileSystemWrapper {
 public:
  explicit PreparedLogs(const std::shared_ptr<rocksdb::FileSystem>& below) : FileSystemWrapper(below) {}

  [[nodiscard]] const char* Name() const override { return "PreparedLogs"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;

  // The log that was made last: its number, and how much has been written to it. Does not ask the disk.
  struct Newest {
    std::atomic<std::uint64_t> number{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  [[nodiscard]] const Newest& newest() const { return *newest_; }

 private:
  std::shared_ptr<Newest> newest_ = std::make_shared<Newest>();
};

}  // namespace semel::store::embedded
