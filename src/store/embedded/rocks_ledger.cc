// Reading and committing; opening is in rocks_open.cc.
#include "store/embedded/rocks_ledger.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include "core/codec.h"
#include "core/encoding.h"
#include "store/embedded/index_key.h"
#include "store/embedded/ledger.h"
#include "store/embedded/prepared_logs.h"
#include "store/embedded/wal_marker.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::store::embedded {
namespace {

rocksdb::Slice slice(const Digest& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

// Enough to find the record again, too little to be the key.
std::string short_name(const Digest& id) {
  return core::to_hex(std::span(id).first<6>());
}

}  // namespace

RocksLedger::RocksLedger(const Clock& clock, EmbeddedOptions options, WalMarker marker)
    : options_(std::move(options)),
      marker_(std::move(marker)),
      space_(options_.path, options_.free_bytes_min),
      logs_(std::make_shared<PreparedLogs>(rocksdb::FileSystem::Default())),
      env_(rocksdb::NewCompositeEnv(logs_)),
      clock_(clock) {}

RocksLedger::~RocksLedger() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* family : {records_, index_}) {
    db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
  }
  db_->Close().PermitUncheckedError();  // all that was acknowledged is in the log
}

Result<std::optional<Record>> RocksLedger::read(const Digest& id) {
  if (stopped_.load(std::memory_order_acquire)) return fail(Code::unavailable, stop_reason_);
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);  // of this thread: nobody reads what the engine would count
  rocksdb::PinnableSlice bytes;
  const rocksdb::Status status = db_->Get({}, records_, slice(id), &bytes);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) {
    const Code code = status.IsCorruption() ? Code::corrupt : Code::unavailable;
    return fail(code, "record " + short_name(id) + " cannot be read: " + status.ToString());
  }
  Result<Record> record = core::decode({bytes.data(), bytes.size()}, id);
  if (!record) return fail(record.error().code, "record " + short_name(id) + ": " + record.error().detail);
  return *std::move(record);
}

Result<void> RocksLedger::admit() {
  if (admitted_) return {};
  Result<void> room = space_.check();
  admitted_ = room.has_value();
  return room;
}

Result<void> RocksLedger::commit(std::span<const Change> changes) {
  if (stopped_.load(std::memory_order_relaxed)) return fail(Code::unavailable, stop_reason_);
  admitted_ = false;
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  const Time now = clock_.now();
  filter_.set_time(now);
  batch_.Clear();
  entries_.clear();
  for (const Change& change : changes) add(change);
  // In order, so that each goes in right behind the one before it: most are the latest there are.
  std::ranges::sort(entries_);
  for (const Expiry& entry : entries_) batch_.Put(index_, IndexKey(entry).slice(), {}).PermitUncheckedError();
  const bool mark_time = now >= marked_at_ + time_mark_every;
  if (mark_time) {
    std::array<char, sizeof(std::int64_t)> bytes{};
    const std::int64_t millis = now.time_since_epoch().count();
    std::memcpy(bytes.data(), &millis, sizeof(millis));
    batch_.Put(index_, time_mark_key, rocksdb::Slice(bytes.data(), bytes.size())).PermitUncheckedError();
  }

  rocksdb::WriteOptions durable;
  durable.sync = true;
  const std::chrono::nanoseconds began = clock_.stopwatch();
  const rocksdb::Status written = db_->Write(durable, &batch_);
  if (!written.ok()) return stop(written.ToString());
  if (mark_time) marked_at_ = now;
  if (Result<void> noted = marker_.write(durable_mark(now)); !noted) return stop(noted.error().detail);
  if (options_.on_commit) options_.on_commit(changes.size(), clock_.stopwatch() - began);
  return {};
}

// Statuses of a WriteBatch that only grows in memory say nothing: it has no size limit.
void RocksLedger::add(const Change& change) {
  const std::optional<Time> stands_at = change.record ? std::optional(change.record->expires_at) : std::nullopt;
  if (change.record) {
    batch_.Put(records_, slice(change.id), core::encode(*change.record)).PermitUncheckedError();
  } else {
    batch_.Delete(records_, slice(change.id)).PermitUncheckedError();
  }
  if (change.replaced_expiry == stands_at) return;
  if (change.replaced_expiry) {
    const IndexKey old({.at = *change.replaced_expiry, .id = change.id});
    batch_.Delete(index_, old.slice()).PermitUncheckedError();
  }
  if (stands_at) {
    entries_.push_back({.at = *stands_at, .id = change.id});
    index_begins_ = std::min(index_begins_, *stands_at);
  }
}

// What the marker may promise after a commit: this thread is the only writer, so all that is in the log is synced.
Mark RocksLedger::durable_mark(Time now) const {
  const PreparedLogs::Newest& log = logs_->newest();
  return Mark{.created = true,
              .log = log.number.load(std::memory_order_relaxed),
              .log_bytes = log.bytes.load(std::memory_order_relaxed),
              .sequence = db_->GetLatestSequenceNumber(),
              .time = now};
}

Result<std::vector<Expiry>> RocksLedger::expiries(Time now, std::size_t limit, const std::optional<Expiry>& after) {
  if (stopped_.load(std::memory_order_relaxed)) return fail(Code::unavailable, stop_reason_);
  std::vector<Expiry> found;
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}, index_));
  const IndexKey begin(after ? *after : Expiry{.at = index_begins_, .id = {}});
  it->Seek(begin.slice());
  std::optional<Expiry> entry;
  for (; it->Valid() && found.size() < limit; it->Next()) {
    entry = IndexKey::parse(it->key());
    if (!entry || entry->at > now) break;
    if (!after || *after < *entry) found.push_back(*entry);
  }
  if (!it->status().ok()) {
    return fail(Code::unavailable, "the expiry index cannot be read: " + it->status().ToString());
  }
  if (!after && !found.empty()) index_begins_ = found.front().at;
  if (!after && found.empty()) index_begins_ = entry ? entry->at : now;
  return found;
}

Result<void> RocksLedger::stop(const std::string& reason) {
  stop_reason_ = "the disk refused a write (" + reason +
                 "); the store has stopped, because only reading it back can tell what the disk holds. Mend the cause, "
                 "then start again";
  stopped_.store(true, std::memory_order_release);
  return fail(Code::unavailable, stop_reason_);
}

}  // namespace semel::store::embedded
