// A log is a file of the file system below, plus a second descriptor of it that writes zeros ahead.
#include "store/embedded/prepared_logs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <rocksdb/file_system.h>
#include <rocksdb/io_status.h>
#include <rocksdb/slice.h>

namespace semel::store::embedded {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr std::uint64_t prepared_bytes = 1U << 20U;  // at a time

class PreparedLog : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  PreparedLog(std::unique_ptr<rocksdb::FSWritableFile> file, int ahead, std::shared_ptr<PreparedLogs::Newest> newest)
      : FSWritableFileOwnerWrapper(std::move(file)), ahead_(ahead), newest_(std::move(newest)) {}
  ~PreparedLog() override { ::close(ahead_); }
  PreparedLog(const PreparedLog&) = delete;
  PreparedLog& operator=(const PreparedLog&) = delete;

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, IODebugContext* debug) override {
    prepare(data.size());
    IOStatus status = FSWritableFileOwnerWrapper::Append(data, options, debug);
    if (status.ok()) wrote(data.size());
    return status;
  }

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& verification, IODebugContext* debug) override {
    prepare(data.size());
    IOStatus status = FSWritableFileOwnerWrapper::Append(data, options, verification, debug);
    if (status.ok()) wrote(data.size());
    return status;
  }

  // Space is allocated here, not by the engine.
  void PrepareWrite(std::size_t /*offset*/, std::size_t /*length*/, const IOOptions& /*options*/,
                    IODebugContext* /*debug*/) override {}

  // Cuts off the zeros: a closed log holds its records and nothing else.
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    if (prepared_ > written_ && ::ftruncate(ahead_, static_cast<off_t>(written_)) != 0) {
      return IOStatus::IOError("cannot cut a log to its length", std::generic_category().message(errno));
    }
    return FSWritableFileOwnerWrapper::Close(options, debug);
  }

 private:
  void wrote(std::size_t bytes) {
    written_ += bytes;
    newest_->bytes.store(written_, std::memory_order_relaxed);
  }

  // If there is no space for zeros there may still be some for the record: then the log grows as it is written.
  void prepare(std::size_t bytes) {
    static constexpr std::array<char, 65'536> zeros{};
    if (written_ + bytes <= prepared_) return;
    const std::uint64_t end = written_ + bytes + prepared_bytes;
    for (std::uint64_t at = std::max(written_ + bytes, prepared_); at < end;) {
      const std::size_t length = std::min<std::uint64_t>(zeros.size(), end - at);
      const ssize_t done = ::pwrite(ahead_, zeros.data(), length, static_cast<off_t>(at));
      if (done <= 0) return;
      at += static_cast<std::uint64_t>(done);
      prepared_ = at;
    }
  }

  int ahead_;
  std::uint64_t written_ = 0;
  std::uint64_t prepared_ = 0;
  std::shared_ptr<PreparedLogs::Newest> newest_;
};

// The engine names its logs by number: 000042.log.
std::uint64_t number_of(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);
  std::uint64_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

}  // namespace

IOStatus PreparedLogs::NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) {
  IOStatus made = FileSystemWrapper::NewWritableFile(name, options, file, debug);
  if (!made.ok() || !std::string_view(name).ends_with(".log")) return made;
  const int ahead = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
  if (ahead < 0) return IOStatus::IOError("cannot open " + name, std::generic_category().message(errno));
  newest_->number.store(number_of(name), std::memory_order_relaxed);
  newest_->bytes.store(0, std::memory_order_relaxed);
  *file = std::make_unique<PreparedLog>(std::move(*file), ahead, newest_);
  return made;
}

}  // namespace semel::store::embedded
