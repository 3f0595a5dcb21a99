// The ledger of the embedded store: RocksDB, one folder, one process.
//
//   family    key                               value
//   records   id (32 bytes)                     record (core/codec.h)
//   default   'e' ‖ expires_at ‖ id             –            one per record, made with the claim (index_key.h)
//             'u' ‖ claimed_at ‖ id             –            one per record that is unknown or runs for long
//             'i'                               mark of the store's identity, if it has one (core/identity.h)
//             't'                               time mark    at most one a second, with a batch of records
//   inbox     as store/inbox_codec.h says, but for what begins with 'p': that is in the family parcels
//
// A commit is one WriteBatch with a synced log. RocksDB shows a write to readers only after that sync, so read() never
// sees a write that could still be lost. The first error of the disk stops the ledger for good: after a failed sync,
// only reading the disk back tells what it holds, so nothing is tried twice.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/write_batch.h>

#include "core/crypto.h"
#include "core/identity.h"
#include "store/embedded/disk_space.h"
#include "store/embedded/expiry_index.h"
#include "store/embedded/ledger.h"
#include "store/embedded/rocks_engine.h"
#include "store/embedded/store_clock.h"
#include "store/embedded/unsettled_index.h"
#include "store/embedded/wal_marker.h"
#include "store/inbox_table.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::store::embedded {

class RocksLedger : public Ledger, public InboxReader {
 public:
  static constexpr std::string_view identity_mark_key = "i";
  static constexpr std::string_view time_mark_key = "t";
  static constexpr Millis time_mark_every{1000};

  // Errors as open_embedded_store(). `clock` must outlive the ledger. `keys`: see settle_identity().
  static Result<std::unique_ptr<RocksLedger>> open(const Clock& clock, EmbeddedOptions options,
                                                   const std::vector<core::AesKey>& keys = {});
  RocksLedger(const RocksLedger&) = delete;
  RocksLedger& operator=(const RocksLedger&) = delete;

  Result<std::optional<Record>> read(const Digest& id) override;
  std::vector<Result<std::optional<Record>>> read_all(std::span<const Digest> ids) override;
  Result<void> admit() override;
  Result<void> commit(std::span<const Change> changes) override { return commit_with(changes, {}); }
  Result<void> commit_with(std::span<const Change> changes, const OverlayTable::Changes& inbox) override;
  // Of the inbox, as far as it is durable. From any thread.
  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> walk(std::string_view begin, std::string_view prefix, InboxVisit visit) override;
  std::unique_ptr<InboxReader> steady() override;
  Result<std::vector<Expiry>> expiries(Time now, std::size_t limit, const std::optional<Expiry>& after) override;

  // At most `limit` ids of records that begin with these bytes, in order. From any thread; it may take a while, unless
  // the bytes are a whole id.
  Result<std::vector<Digest>> ids(const std::string& begin, std::size_t limit);
  // At most `limit` records behind this one in the order of expiry, that expire before `to`. From any thread.
  Result<std::vector<Expiry>> roll(const Expiry& behind, Time to, std::size_t limit);
  [[nodiscard]] UnsettledIndex& unsettled() { return unsettled_; }

  [[nodiscard]] const StoreClock& clock() const { return clock_; }
  // By which keys are to be named before they are looked up here. None: they keep their names.
  [[nodiscard]] const std::optional<core::StoreIdentity>& identity() const { return identity_; }

 private:
  class SteadyReader;

  RocksLedger(const Clock& clock, EmbeddedOptions options, WalMarker marker, std::unique_ptr<RocksEngine> engine);
  Result<void> start_clock();
  Result<void> find_running();
  [[nodiscard]] rocksdb::ColumnFamilyHandle* family_of(std::string_view inbox_key) const;
  void add_inbox(const OverlayTable::Changes& inbox);
  [[nodiscard]] Mark durable_mark(Time now) const;
  Result<void> stop(const std::string& reason);

  EmbeddedOptions options_;
  WalMarker marker_;
  std::optional<core::StoreIdentity> identity_;
  std::unique_ptr<RocksEngine> engine_;
  StoreClock clock_;
  UnsettledIndex unsettled_;

  // Of the committer's thread.
  DiskSpace space_;
  ExpiryIndex index_;
  rocksdb::WriteBatch batch_;
  Time marked_at_;  // the time mark on disk

  std::string stop_reason_;  // written once, before stopped_
  std::atomic<bool> stopped_{false};
};

}  // namespace semel::store::embedded
