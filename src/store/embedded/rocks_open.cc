// Opening the ledger: all that must be true of a folder before a record in it is believed.
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
#include "store/cursor.h"
#include "store/embedded/folder.h"
#include "store/embedded/identity_file.h"
#include "store/embedded/rocks_engine.h"
#include "store/embedded/rocks_ledger.h"
#include "store/embedded/running_note.h"
#include "store/embedded/wal_marker.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::store::embedded {
namespace {

// Opens the engine, and makes its files if there are none. The marker says so before the first of them is made: should
// this be cut short, half a store without records is no damage.
Result<std::unique_ptr<RocksEngine>> open_engine(const EmbeddedOptions& options, WalMarker& marker) {
  std::error_code error;
  const bool exists = std::filesystem::exists(options.path / "CURRENT", error);
  if (!exists) {
    if (Result<void> marked = marker.write_synced(Mark{}); !marked) return std::unexpected(std::move(marked.error()));
  }
  const RocksEngine::Files files = exists ? RocksEngine::Files::there : RocksEngine::Files::missing;
  Result<std::unique_ptr<RocksEngine>> engine = RocksEngine::open(options.path, options.cache_bytes, files);
  if (!engine) return engine;
  Result<void> whole = marker.verify_sequence((*engine)->db().GetLatestSequenceNumber());
  if (!whole) return std::unexpected(std::move(whole.error()));
  return engine;
}

// The engine remembers which identity its records are named by. Without the file that holds it, or with the file of
// another store, every key would be forgotten. A newborn store is told before the marker says that it may hold records.
Result<void> bind_identity(RocksEngine& engine, const std::optional<core::StoreIdentity>& identity, Age age,
                           const std::string& path) {
  std::string mark;
  if (identity) {
    const Digest digest = core::mark_of(*identity);
    mark.assign(digest.begin(), digest.end());
  }
  std::string bound;
  const rocksdb::Status status = engine.db().Get({}, engine.index(), RocksLedger::identity_mark_key, &bound);
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
  const rocksdb::Status written = engine.db().Put(durable, engine.index(), RocksLedger::identity_mark_key, mark);
  if (written.ok()) return {};
  return fail(Code::unavailable, "cannot write to the store at " + path + ": " + written.ToString());
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
  Result<std::unique_ptr<RocksEngine>> engine = open_engine(options, *marker);
  if (!engine) return std::unexpected(std::move(engine.error()));
  if (Result<void> bound = bind_identity(**engine, *identity, age, options.path.string()); !bound) {
    return std::unexpected(std::move(bound.error()));
  }
  std::unique_ptr<RocksLedger> ledger(
      new RocksLedger(clock, std::move(options), *std::move(marker), *std::move(engine)));
  ledger->identity_ = *identity;
  if (Result<void> started = ledger->start_clock(); !started) return std::unexpected(std::move(started.error()));
  if (Result<void> found = ledger->find_running(); !found) return std::unexpected(std::move(found.error()));
  return ledger;
}

// Time goes on from the later of the two marks. The one in the database is at most a second old and always durable; the
// one in the marker is exact unless the power failed.
Result<void> RocksLedger::start_clock() {
  std::string bytes;
  const rocksdb::Status status = engine_->db().Get({}, engine_->index(), time_mark_key, &bytes);
  std::int64_t stored = 0;
  if (status.ok() && bytes.size() == sizeof(stored)) {
    std::memcpy(&stored, bytes.data(), sizeof(stored));
  } else if (!status.IsNotFound()) {
    return fail(Code::corrupt, "the time mark of the store cannot be read: " + status.ToString());
  }
  marked_at_ = Time{Millis{stored}};
  clock_.start_from(std::max(marked_at_, marker_.last_time()));
  engine_->set_time(clock_.now());
  return marker_.write_synced(durable_mark(clock_.now()));
}

// A record that cannot be read is not listed; its key stays blocked, and those who ask for it hear why.
Result<void> RocksLedger::find_running() {
  const Result<std::vector<Digest>> noted = noted_running(engine_->db(), engine_->records());
  if (!noted) return std::unexpected(noted.error());
  std::vector<ListPlace> running;
  for (const Digest& id : *noted) {
    const Result<std::optional<Record>> found = read(id);
    if (!found) continue;
    const std::optional<Record>& record = *found;
    if (record && record->state == Record::State::running) running.push_back({.at = record->claimed_at, .id = id});
  }
  return unsettled_.start(std::move(running));
}

}  // namespace semel::store::embedded
