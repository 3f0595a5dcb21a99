// The marker file: two slots, written in turn, each with a checksum; and the checks that an opening store makes with
// it.
#include "store/embedded/wal_marker.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>
#include <xxhash.h>

#include "store/embedded/folder.h"
#include "store/embedded/log_tail.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "semel.mark";
constexpr std::array<char, 8> magic{'S', 'E', 'M', 'E', 'L', 'M', 'K', '1'};
constexpr std::size_t slot_bytes = 512;  // a sector: slots never share one

// As it lies in the file, little-endian, which codec.cc asserts of the machine.
struct Slot {
  std::array<char, 8> magic;
  std::uint64_t writes;
  std::uint64_t created;
  std::uint64_t log;
  std::uint64_t log_bytes;
  std::uint64_t sequence;
  std::int64_t time;
  std::uint64_t checksum;  // of all before it
};
static_assert(sizeof(Slot) == 64);

std::uint64_t checksum_of(const Slot& slot) {
  return XXH3_64bits(&slot, offsetof(Slot, checksum));
}

std::string reason() {
  return std::generic_category().message(errno);
}

// What kind of store the folder looks like, from the names in it.
struct Inventory {
  bool current = false;
  bool data = false;                       // files that only a store that was in use has
  std::optional<std::uint64_t> log_bytes;  // the log that was asked for
  std::uint64_t newest_log = 0;
};

std::optional<std::uint64_t> log_number(const fs::path& file) {
  const std::string stem = file.stem().string();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), number);
  if (file.extension() != ".log" || error != std::errc{} || end != stem.data() + stem.size()) return std::nullopt;
  return number;
}

Result<Inventory> look(const fs::path& folder, std::uint64_t wanted_log) {
  Inventory seen;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path& file = it->path();
    const std::string name = file.filename().string();
    const std::optional<std::uint64_t> number = log_number(file);
    seen.current = seen.current || name == "CURRENT";
    seen.data = seen.data || number || file.extension() == ".sst" || name.starts_with("MANIFEST-");
    if (!number) continue;
    seen.newest_log = std::max(seen.newest_log, *number);
    if (*number != wanted_log) continue;
    const std::uintmax_t bytes = it->file_size(error);
    if (!error) seen.log_bytes = bytes;
  }
  if (error) return fail(Code::unavailable, "cannot read the folder " + folder.string() + ": " + error.message());
  return seen;
}

}  // namespace

Result<WalMarker> WalMarker::open(const fs::path& folder) {
  const fs::path path = folder / file_name;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return fail(Code::unavailable, "cannot open " + path.string() + ": " + reason());
  WalMarker marker(file, folder);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(Code::unavailable, "cannot lock " + path.string() + ": " + reason());
    return fail(Code::unavailable, "another process has the store open: " + folder.string());
  }
  if (Result<void> loaded = marker.load(); !loaded) return std::unexpected(std::move(loaded.error()));
  return marker;
}

WalMarker::WalMarker(WalMarker&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      folder_(std::move(other.folder_)),
      last_(other.last_),
      writes_(other.writes_) {}

WalMarker::~WalMarker() {
  if (file_ >= 0) ::close(file_);
}

Result<void> WalMarker::load() {
  const std::string path = (folder_ / file_name).string();
  ssize_t read = 0;
  for (off_t at : {off_t{0}, static_cast<off_t>(slot_bytes)}) {
    Slot slot{};
    const ssize_t got = ::pread(file_, &slot, sizeof(slot), at);
    if (got < 0) return fail(Code::unavailable, "cannot read " + path + ": " + reason());
    read += got;
    const bool whole = got == sizeof(slot) && slot.magic == magic && slot.checksum == checksum_of(slot);
    if (!whole || (last_ && slot.writes <= writes_)) continue;
    writes_ = slot.writes;
    last_ = Mark{.created = slot.created != 0,
                 .log = slot.log,
                 .log_bytes = slot.log_bytes,
                 .sequence = slot.sequence,
                 .time = Time{Millis{slot.time}}};
  }
  if (read == 0 || last_) return {};
  return fail(Code::corrupt, "the marker " + path +
                                 " is damaged, so it cannot be told whether the store is whole. "
                                 "Restore the folder from a backup; or, if losing its newest records is acceptable, "
                                 "delete " +
                                 path + " and start again");
}

Result<void> WalMarker::write(const Mark& mark) {
  Slot slot{.magic = magic,
            .writes = writes_ + 1,
            .created = mark.created ? 1U : 0U,
            .log = mark.log,
            .log_bytes = mark.log_bytes,
            .sequence = mark.sequence,
            .time = mark.time.time_since_epoch().count(),
            .checksum = 0};
  slot.checksum = checksum_of(slot);
  const auto at = static_cast<off_t>(slot.writes % 2 * slot_bytes);
  if (::pwrite(file_, &slot, sizeof(slot), at) != sizeof(slot)) {
    return fail(Code::unavailable, "cannot write " + (folder_ / file_name).string() + ": " + reason());
  }
  ++writes_;
  last_ = mark;
  return {};
}

Result<void> WalMarker::write_synced(const Mark& mark) {
  // Both slots, so that the file has all its blocks: a later write cannot fail for want of room.
  for (int i = 0; i < 2; ++i) {
    if (Result<void> written = write(mark); !written) return written;
  }
  if (::fsync(file_) != 0) {
    return fail(Code::unavailable, "cannot sync " + (folder_ / file_name).string() + ": " + reason());
  }
  return sync_folder(folder_);
}

Result<void> WalMarker::missing(const std::string& what) const {
  return fail(Code::corrupt, what + ", so records that were acknowledged are missing from " + folder_.string() +
                                 ". Restore the folder from a backup; or, if losing them is acceptable, delete " +
                                 (folder_ / file_name).string() + " and start again");
}

Result<void> WalMarker::verify() const {
  const Result<Inventory> seen = look(folder_, last_ ? last_->log : 0);
  if (!seen) return std::unexpected(seen.error());
  if (last_ && !last_->created) return {};
  if (!seen->current && seen->data) {
    return fail(Code::corrupt, "the file CURRENT is missing from " + folder_.string() +
                                   ", so the records in the files around it cannot be read. Restore the folder from a "
                                   "backup; or, if losing them is acceptable, empty the folder and start again");
  }
  if (!last_) return {};
  const Mark& last = *last_;
  if (!seen->current) return missing("the store's files are gone");
  const std::string log = "write-ahead log " + std::to_string(last.log);
  const std::optional<std::uint64_t> log_bytes = seen->log_bytes;
  if (log_bytes && *log_bytes < last.log_bytes) {
    return missing("the " + log + " has " + std::to_string(*log_bytes) + " bytes where " +
                   std::to_string(last.log_bytes) + " had been made durable");
  }
  // A later log alone is fine: the engine moved on after the mark was written, and verify_sequence() will tell.
  if (!log_bytes && seen->newest_log < last.log) return missing("the " + log + " is gone");
  return {};
}

Result<bool> WalMarker::newborn() const {
  if (last_) return !last_->created;
  const Result<Inventory> seen = look(folder_, 0);
  if (!seen) return std::unexpected(seen.error());
  return !seen->current && !seen->data;
}

// The log of the mark was whole up to there. Earlier ones ended before it began.
Result<void> WalMarker::cut_logs() const {
  const Mark last = last_.value_or(Mark{});
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::optional<std::uint64_t> number = log_number(it->path());
    if (!number || *number < last.log) continue;
    if (Result<void> cut = cut_log(it->path(), *number == last.log ? last.log_bytes : 0); !cut) return cut;
  }
  if (error) return fail(Code::unavailable, "cannot read the folder " + folder_.string() + ": " + error.message());
  return {};
}

Result<void> WalMarker::verify_sequence(std::uint64_t sequence) const {
  const Mark last = last_.value_or(Mark{});
  if (!last.created || sequence >= last.sequence) return {};
  return missing("the store ends at change " + std::to_string(sequence) + " where " + std::to_string(last.sequence) +
                 " had been made durable");
}

}  // namespace semel::store::embedded
