// Opening the ledger: everything that must be true of a folder before a single record in it is believed.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include "core/crypto.h"
#include "core/identity.h"
#include "store/embedded/folder.h"
#include "store/embedded/identity_file.h"
#include "store/embedded/rocks_ledger.h"
#include "store/embedded/rocks_options.h"
#include "store/embedded/wal_marker.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/stores.h>

namespace semel::store::embedded {
namespace {

Error open_error(const rocksdb::Status& status, const std::string& path) {
  const std::string text = status.ToString();
  if (status.IsCorruption() || status.IsPathNotFound() || status.IsInvalidArgument() || status.IsNotSupported()) {
    return {.code = Code::corrupt,
            .detail = "the store at " + path + " is damaged (" + text +
                      "). Nothing was dropped to get past this: restore the folder from a backup"};
  }
  if (text.find("/LOCK") != std::string::npos) {
    return {.code = Code::unavailable, .detail = "another process has the store open: " + path + " (" + text + ")"};
  }
  return {.code = Code::unavailable, .detail = "cannot open the store at " + path + ": " + text};
}

}  // namespace

Result<std::unique_ptr<RocksLedger>> RocksLedger::open(const Clock& clock, EmbeddedOptions options,
                                                       const std::vector<core::AesKey>& keys) {
  if (Result<void> made = make_folder(options.path); !made) return std::unexpected(std::move(made.error()));
  Result<WalMarker> marker = WalMarker::open(options.path);
  if (!marker) return std::unexpected(std::move(marker.error()));
  if (Result<void> whole = marker->verify(); !whole) return std::unexpected(std::move(whole.error()));
  if (Result<void> cut = marker->cut_logs(); !cut) return std::unexpected(std::move(cut.error()));
  const Result<bool> newborn = marker->newborn();
  if (!newborn) return std::unexpected(newborn.error());
  const Age age = *newborn ? Age::newborn : Age::grown;
  Result<std::optional<core::StoreIdentity>> identity = settle_identity(options.path, age, keys);
  if (!identity) return std::unexpected(std::move(identity.error()));
  std::unique_ptr<RocksLedger> ledger(new RocksLedger(clock, std::move(options), *std::move(marker)));
  ledger->identity_ = *identity;
  if (Result<void> opened = ledger->open_engine(); !opened) return std::unexpected(std::move(opened.error()));
  if (Result<void> bound = ledger->bind_identity(age); !bound) return std::unexpected(std::move(bound.error()));
  if (Result<void> started = ledger->start_clock(); !started) return std::unexpected(std::move(started.error()));
  return ledger;
}

Result<void> RocksLedger::open_engine() {
  std::error_code error;
  const bool exists = std::filesystem::exists(options_.path / "CURRENT", error);
  if (!exists) {
    // Said before the engine makes its first file: should this be cut short, half a store without records is no damage.
    if (Result<void> marked = marker_.write_synced(Mark{}); !marked) return marked;
  }
  rocksdb::DBOptions database = database_options(options_.path);
  database.create_if_missing = !exists;
  database.env = env_.get();
  const std::vector<rocksdb::ColumnFamilyDescriptor> families{
      {rocksdb::kDefaultColumnFamilyName, index_options()},
      {"records", records_options(options_.cache_bytes, filter_)},
  };
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(database, options_.path.string(), families, &handles, &db);
  if (!status.ok()) return std::unexpected(open_error(status, options_.path.string()));
  db_.reset(db);
  index_ = handles.at(0);
  records_ = handles.at(1);
  return marker_.verify_sequence(db_->GetLatestSequenceNumber());
}

// The engine remembers which identity its records are named by: without the file that holds it, or with one of another
// store, every key would be forgotten. A newborn store is told before the marker says that it may hold records.
Result<void> RocksLedger::bind_identity(Age age) {
  const std::string path = options_.path.string();
  std::string mark;
  if (identity_) {
    const Digest digest = core::mark_of(*identity_);
    mark.assign(digest.begin(), digest.end());
  }
  std::string bound;
  const rocksdb::Status status = db_->Get({}, index_, identity_mark_key, &bound);
  if (!status.ok() && !status.IsNotFound()) {
    return fail(Code::corrupt, "the mark of the store's identity cannot be read: " + status.ToString());
  }
  if (bound == mark) return {};
  if (age == Age::grown) {
    return fail(Code::corrupt,
                (mark.empty() ? "the file semel.identity is missing from "
                              : "the file semel.identity belongs to another store than ") +
                    path +
                    ", so none of its keys would be found and every retry would run again. Restore the file "
                    "from a backup of the folder");
  }
  rocksdb::WriteOptions durable;
  durable.sync = true;
  const rocksdb::Status written = db_->Put(durable, index_, identity_mark_key, mark);
  if (written.ok()) return {};
  return fail(Code::unavailable, "cannot write to the store at " + path + ": " + written.ToString());
}

// Time goes on from the later of the two marks: the one in the database is at most a second old but always durable, the
// one in the marker is exact unless the power went.
Result<void> RocksLedger::start_clock() {
  std::string bytes;
  const rocksdb::Status status = db_->Get({}, index_, time_mark_key, &bytes);
  std::int64_t stored = 0;
  if (status.ok() && bytes.size() == sizeof(stored)) {
    std::memcpy(&stored, bytes.data(), sizeof(stored));
  } else if (!status.IsNotFound()) {
    return fail(Code::corrupt, "the time mark of the store cannot be read: " + status.ToString());
  }
  marked_at_ = Time{Millis{stored}};
  clock_.start_from(std::max(marked_at_, marker_.last_time()));
  filter_.set_time(clock_.now());
  return marker_.write_synced(durable_mark(clock_.now()));
}

}  // namespace semel::store::embedded
