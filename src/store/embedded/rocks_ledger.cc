// Reading and committing; opening is in rocks_open.cc.
#include "store/embedded/rocks_ledger.h"

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
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include "core/codec.h"
#include "core/encoding.h"
#include "store/embedded/ledger.h"
#include "store/embedded/prepared_logs.h"
#include "store/embedded/rocks_engine.h"
#include "store/embedded/wal_marker.h"
#include "store/inbox_table.h"
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

Result<std::optional<Record>> record_of(const Digest& id, const rocksdb::Status& status,
                                        const rocksdb::PinnableSlice& bytes) {
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) {
    const Code code = status.IsCorruption() ? Code::corrupt : Code::unavailable;
    return fail(code, "record " + short_name(id) + " cannot be read: " + status.ToString());
  }
  Result<Record> record = core::decode({bytes.data(), bytes.size()}, id);
  if (!record) return fail(record.error().code, "record " + short_name(id) + ": " + record.error().detail);
  return *std::move(record);
}

}  // namespace

RocksLedger::RocksLedger(const Clock& clock, EmbeddedOptions options, WalMarker marker,
                         std::unique_ptr<RocksEngine> engine)
    : options_(std::move(options)),
      marker_(std::move(marker)),
      engine_(std::move(engine)),
      clock_(clock),
      unsettled_(*engine_),
      space_(options_.path, options_.free_bytes_min),
      index_(*engine_) {}

Result<std::optional<Record>> RocksLedger::read(const Digest& id) {
  if (stopped_.load(std::memory_order_acquire)) return fail(Code::unavailable, stop_reason_);
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);  // of this thread: the counts are never read
  rocksdb::PinnableSlice bytes;
  const rocksdb::Status status = engine_->db().Get({}, engine_->records(), slice(id), &bytes);
  return record_of(id, status, bytes);
}

// A block that holds several of them is read once.
std::vector<Result<std::optional<Record>>> RocksLedger::read_all(std::span<const Digest> ids) {
  std::vector<Result<std::optional<Record>>> records;
  records.reserve(ids.size());
  if (stopped_.load(std::memory_order_acquire)) {
    records.assign(ids.size(), fail(Code::unavailable, stop_reason_));
    return records;
  }
  std::vector<rocksdb::Slice> names;
  for (const Digest& id : ids) names.push_back(slice(id));
  std::vector<rocksdb::PinnableSlice> bytes(ids.size());
  std::vector<rocksdb::Status> statuses(ids.size());
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  engine_->db().MultiGet(options, engine_->records(), ids.size(), names.data(), bytes.data(), statuses.data());
  for (std::size_t i = 0; i < ids.size(); ++i) records.push_back(record_of(ids[i], statuses[i], bytes[i]));
  return records;
}

Result<void> RocksLedger::admit() {
  return space_.check();
}

Result<void> RocksLedger::commit_with(std::span<const Change> changes, const OverlayTable::Changes& inbox) {
  if (stopped_.load(std::memory_order_relaxed)) return fail(Code::unavailable, stop_reason_);
  space_.ask_again();
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  const Time now = clock_.now();
  engine_->set_time(now);
  batch_.Clear();
  // Statuses of a WriteBatch that only grows in memory say nothing: it has no size limit.
  for (const Change& change : changes) {
    if (change.record) {
      batch_.Put(engine_->records(), slice(change.id), core::encode(*change.record)).PermitUncheckedError();
    } else {
      batch_.Delete(engine_->records(), slice(change.id)).PermitUncheckedError();
    }
    index_.add(change, batch_);
    unsettled_.add(change, batch_);
  }
  index_.finish(batch_);
  add_inbox(inbox);
  const bool mark_time = now >= marked_at_ + time_mark_every;
  if (mark_time) {
    std::array<char, sizeof(std::int64_t)> bytes{};
    const std::int64_t millis = now.time_since_epoch().count();
    std::memcpy(bytes.data(), &millis, sizeof(millis));
    batch_.Put(engine_->index(), time_mark_key, rocksdb::Slice(bytes.data(), bytes.size())).PermitUncheckedError();
    unsettled_.age(now, changes, batch_);
  }

  rocksdb::WriteOptions durable;
  durable.sync = true;
  const std::chrono::nanoseconds began = clock_.stopwatch();
  const rocksdb::Status written = engine_->db().Write(durable, &batch_);
  if (!written.ok()) return stop(written.ToString());
  unsettled_.committed(changes);
  if (mark_time) marked_at_ = now;
  if (Result<void> noted = marker_.write(durable_mark(now)); !noted) return stop(noted.error().detail);
  if (options_.on_commit) options_.on_commit(changes.size() + inbox.size(), clock_.stopwatch() - began);
  return {};
}

// What the marker may promise after a commit. This thread is the only writer, so the whole log is synced.
Mark RocksLedger::durable_mark(Time now) const {
  const PreparedLogs::Newest& log = engine_->log();
  return Mark{.created = true,
              .log = log.number.load(std::memory_order_relaxed),
              .log_bytes = log.bytes.load(std::memory_order_relaxed),
              .sequence = engine_->db().GetLatestSequenceNumber(),
              .time = now};
}

Result<std::vector<Expiry>> RocksLedger::expiries(Time now, std::size_t limit, const std::optional<Expiry>& after) {
  if (stopped_.load(std::memory_order_relaxed)) return fail(Code::unavailable, stop_reason_);
  return index_.find(now, limit, after);
}

// The records are kept for looking them up by whole ids; to walk over them, the engine first has to sort what it has in
// memory.
Result<std::vector<Digest>> RocksLedger::ids(const std::string& begin, std::size_t limit) {
  if (stopped_.load(std::memory_order_acquire)) return fail(Code::unavailable, stop_reason_);
  std::vector<Digest> found;
  Digest id{};
  if (begin.size() == id.size()) {
    std::memcpy(id.data(), begin.data(), id.size());
    return std::vector{id};
  }
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(engine_->db().NewIterator(options, engine_->records()));
  for (it->Seek(begin); it->Valid() && found.size() < limit && it->key().starts_with(begin); it->Next()) {
    if (it->key().size() != id.size()) continue;
    std::memcpy(id.data(), it->key().data(), id.size());
    found.push_back(id);
  }
  if (it->status().ok()) return found;
  return fail(Code::unavailable, "the records cannot be searched: " + it->status().ToString());
}

Result<void> RocksLedger::stop(const std::string& reason) {
  stop_reason_ = "the disk refused a write (" + reason +
                 "); the store has stopped, because only reading it back can tell what the disk holds. Mend the cause, "
                 "then start again";
  stopped_.store(true, std::memory_order_release);
  return fail(Code::unavailable, stop_reason_);
}

}  // namespace semel::store::embedded
