// The marker notices what the engine cannot: that the newest part of a store is missing.
//
// If the live write-ahead log was deleted, RocksDB opens an older database; without CURRENT it makes a new one. It says
// nothing either way. So a small file beside its own tells how much must be there:
//
//   semel.mark = two slots; a write goes to the older one, so one of them is always whole
//   slot       = log number, its length, the engine's sequence number and the time, as of a commit that was durable
//
// A slot is written after the commit that it describes, so it never promises too much. It is written without a sync
// after every commit: exact after a crash of the process, a little old but never wrong after a power cut. It is synced
// when the store is opened. The open marker is also the lock that keeps a second process out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {

struct Mark {
  bool created = false;         // false: the engine's files are being made for the first time; nothing is in them yet
  std::uint64_t log = 0;        // number of the live write-ahead log
  std::uint64_t log_bytes = 0;  // how much of it is durable
  std::uint64_t sequence = 0;   // the engine's, of the last durable commit
  Time time;                    // of the store, at that commit
};

class WalMarker {
 public:
  // Opens or creates the marker of `folder` and locks it.
  // Code::unavailable: another process has the store open, or the folder cannot be used. Code::corrupt: both slots are
  // damaged.
  static Result<WalMarker> open(const std::filesystem::path& folder);

  WalMarker(WalMarker&& other) noexcept;
  WalMarker& operator=(WalMarker&&) = delete;
  WalMarker(const WalMarker&) = delete;
  WalMarker& operator=(const WalMarker&) = delete;
  ~WalMarker();

  // The time of the newest mark; 1970 if the marker has just been made.
  [[nodiscard]] Time last_time() const { return last_ ? last_->time : Time{}; }

  // Whether no record was ever written: the store is to be made, or its making was interrupted. Ask after verify() and
  // before the first mark is written.
  [[nodiscard]] Result<bool> newborn() const;

  // Survives the process.
  Result<void> write(const Mark& mark);
  // Survives a power cut, too.
  Result<void> write_synced(const Mark& mark);

  // Cuts off what a crash left behind the last records of the logs (log_tail.h). Call it after verify().
  [[nodiscard]] Result<void> cut_logs() const;

  // Whether the folder holds what the last mark says, as far as that can be seen before the engine opens it.
  // Code::corrupt says what is missing and what to do.
  [[nodiscard]] Result<void> verify() const;
  // The same, by what only the opened engine knows.
  [[nodiscard]] Result<void> verify_sequence(std::uint64_t sequence) const;

 private:
  WalMarker(int file, std::filesystem::path folder) : file_(file), folder_(std::move(folder)) {}
  Result<void> load();
  [[nodiscard]] Result<void> missing(const std::string& what) const;

  int file_;
  std::filesystem::path folder_;
  std::optional<Mark> last_;
  std::uint64_t writes_ = 0;
};

}  // namespace semel::store::embedded
