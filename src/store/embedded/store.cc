// The embedded store: coroutines in front, one committer behind, RocksDB below.
//
// A claim first reads the record in the caller's own thread. If the key has ended, or another caller holds it, the
// claim is answered at once and costs the committer nothing. Every call that may change a record goes through the
// committer.
#include "store/embedded/store.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/crypto.h"
#include "core/seal.h"
#include "core/terms.h"
#include "core/transition.h"
#include "store/audit_log.h"
#include "store/batched_store.h"
#include "store/call.h"
#include "store/capable_store.h"
#include "store/desk.h"
#include "store/embedded/audit_file.h"
#include "store/embedded/batch.h"
#include "store/embedded/committer.h"
#include "store/embedded/desk.h"
#include "store/embedded/history.h"
#include "store/embedded/inbox.h"
#include "store/embedded/notes.h"
#include "store/embedded/recent_writes.h"
#include "store/embedded/rocks_ledger.h"
#include "store/embedded/roll.h"
#include "store/glance.h"
#include "store/history.h"
#include "store/identity.h"
#include "store/inbox_book.h"
#include "store/key_roll.h"
#include "store/notes.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::store::embedded {
namespace {

constexpr std::size_t together = 256;     // keys that are looked at in one walk over the tables
constexpr std::size_t sweep_chunk = 256;  // so that no call waits long behind a sweep

std::uint32_t random_holder() {
  const core::Salt salt = random_salt();
  std::uint32_t holder = 0;
  std::memcpy(&holder, salt.data(), sizeof(holder));
  return holder;
}

class EmbeddedStore : public BatchedStore, public Glance {
 public:
  EmbeddedStore(std::unique_ptr<RocksLedger> ledger, InboxBook book, const std::filesystem::path& folder,
                std::unique_ptr<EmbeddedHistory> history)
      : BatchedStore(sweep_chunk),
        ledger_(std::move(ledger)),
        book_(std::move(book)),
        inbox_part_{.book = book_, .reader = *ledger_},
        committer_(*ledger_, recent_, ledger_->clock(), &inbox_part_),
        desk_(*ledger_, committer_),
        inbox_(*ledger_, committer_),
        notes_(*ledger_, committer_),
        roll_(*ledger_),
        audit_(folder),
        history_(std::move(history)) {}

  EmbeddedInbox& inbox() { return inbox_; }
  Notes& notes() { return notes_; }
  KeyRoll& roll() { return roll_; }
  Desk& desk() { return desk_; }
  AuditLog& audit() { return audit_; }
  History* history() { return history_.get(); }

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override {
    if (Result<void> sound = core::check_terms(terms); !sound) co_return std::unexpected(std::move(sound.error()));
    StoreCall call = claim_call(std::move(key), fingerprint, std::move(terms));
    auto& request = std::get<ClaimCall>(call.request);
    const Look look = look_at(call.key, request);
    if (look.settled) co_return std::move(request.answer);
    co_await committer_.submit(call, look.absent_at);
    co_return std::move(request.answer);
  }

  bool surely_free(const Key& key) override {
    const Result<std::optional<Record>> read = ledger_->read(key.id);
    if (!read) return false;
    const std::optional<Record>& record = *read;
    return !record || record->state == Record::State::released || ledger_->clock().now() >= record->expires_at;
  }

  // The durable record settles most looks. If a lease seems to have lapsed, its renewal may be on its way to the disk:
  // the committer knows.
  Async<std::optional<Held>> look_up(Key key) override {
    Result<std::optional<Record>> read = ledger_->read(key.id);
    co_return co_await look_at_read(std::move(key), std::move(read));
  }

  [[nodiscard]] std::size_t together_max() const override { return together; }

  Async<std::vector<std::optional<Held>>> look_up_together(std::vector<Key> keys) override {
    std::vector<Digest> ids;
    ids.reserve(keys.size());
    for (const Key& key : keys) ids.push_back(key.id);
    std::vector<Result<std::optional<Record>>> records = ledger_->read_all(ids);
    std::vector<std::optional<Held>> found;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      Result<std::optional<Held>> held = co_await look_at_read(std::move(keys[i]), std::move(records[i]));
      if (!held) co_return std::unexpected(std::move(held.error()));
      found.push_back(*std::move(held));
    }
    co_return found;
  }

 private:
  Async<std::optional<Held>> look_at_read(Key key, Result<std::optional<Record>> read) {
    if (!read) co_return std::unexpected(std::move(read.error()));
    const std::optional<Record>& stored = *read;
    const Time now = ledger_->clock().now();
    const bool lapsed = stored && stored->state == Record::State::running && now >= stored->lease_until;
    if (!lapsed) co_return core::step_look(stored ? &*stored : nullptr, now);
    co_return co_await BatchedStore::look_up(std::move(key));
  }

  Task<void> submit(StoreCall& call) override { return committer_.submit(call); }

  struct Look {
    bool settled = false;                                   // the claim has been answered
    std::optional<std::uint64_t> absent_at = std::nullopt;  // see BatchCall
  };

  // Answers a claim that changes nothing, if the durable record settles it. A lapsed lease does not settle it: its
  // renewal may be on its way to the disk.
  Look look_at(const Key& key, ClaimCall& request) {
    const std::uint64_t version = recent_.version();
    Result<std::optional<Record>> read = ledger_->read(key.id);
    if (!read) {
      request.answer = std::unexpected(std::move(read.error()));
      return {.settled = true};
    }
    const std::optional<Record> stored = *std::move(read);
    if (!stored) return {.absent_at = version};
    const Time now = ledger_->clock().now();
    if (stored->state == Record::State::running && now >= stored->lease_until) return {};
    core::ClaimStep step = core::step_claim(&*stored, key, request.fingerprint, request.terms, now);
    if (!step.store) request.answer = std::move(step.answer);
    return {.settled = !step.store};
  }

  std::unique_ptr<RocksLedger> ledger_;
  InboxBook book_;  // of the committer's thread
  InboxPart inbox_part_;
  RecentWrites recent_;
  Committer committer_;
  EmbeddedDesk desk_;
  EmbeddedInbox inbox_;
  EmbeddedNotes notes_;
  EmbeddedRoll roll_;
  AuditFile audit_;
  std::unique_ptr<EmbeddedHistory> history_;  // null if there is none
};

}  // namespace

Result<CapableStore> open_with_keys(Clock& clock, EmbeddedOptions options, const std::vector<core::AesKey>& keys) {
  const std::filesystem::path folder = options.path;
  const std::uint64_t free_bytes_min = options.free_bytes_min;
  Result<std::unique_ptr<RocksLedger>> ledger = RocksLedger::open(clock, std::move(options), keys);
  if (!ledger) return std::unexpected(std::move(ledger.error()));
  CapableStore opened;
  opened.identity = (*ledger)->identity();
  InboxBook book(random_holder());
  if (Result<void> read = book.open(**ledger, (*ledger)->clock().now()); !read) {
    return std::unexpected(std::move(read.error()));
  }
  // The ledger has the lock of the folder by now.
  std::unique_ptr<EmbeddedHistory> history = EmbeddedHistory::open(clock, folder / "history", free_bytes_min);
  auto store = std::make_unique<EmbeddedStore>(*std::move(ledger), std::move(book), folder, std::move(history));
  opened.reopening = store.get();
  opened.glance = store.get();
  opened.lookup = store.get();
  opened.desk = &store->desk();
  opened.audit = &store->audit();
  opened.history = store->history();
  opened.notes = &store->notes();
  opened.roll = &store->roll();
  opened.inbox = &store->inbox();
  opened.inbox_desk = &store->inbox();
  opened.inbox_jobs = &store->inbox();
  opened.store = std::move(store);
  return opened;
}

}  // namespace semel::store::embedded

namespace semel {

Result<OpenedStore> open_embedded_store(Clock& clock, EmbeddedOptions options) {
  return store::embedded::open_with_keys(clock, std::move(options), {});
}

}  // namespace semel
