// Shares out keys. Which databases belong together is in shard_set.cc.
#include "store/postgres/shards.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/settlement.h"
#include "core/sha256.h"
#include "store/audit_log.h"
#include "store/capable_store.h"
#include "store/desk.h"
#include "store/history.h"
#include "store/key_roll.h"
#include "store/lookup.h"
#include "store/notes.h"
#include "store/postgres/sharded_history.h"
#include "store/postgres/sharded_inbox.h"
#include "store/postgres/sharded_jobs.h"
#include "store/postgres/sharded_notes.h"
#include "store/remote_changes.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/endings.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/reopening.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {
namespace {

// The shards one after the other. An id alone does not say where its key lives, so all are asked.
class ShardedDesk : public Desk, public KeyRoll {
 public:
  explicit ShardedDesk(const std::vector<Shard>& shards) : shards_(shards) {}

  // A cursor is the number of the shard in front of its own.
  Async<RollPage> expiring(RollSpan span, std::string cursor) override {
    std::size_t at = 0;
    if (!cursor.empty() && !take_shard(cursor, at)) {
      co_return fail(Code::invalid, "cursor: it is not one that a roll has returned");
    }
    Result<RollPage> page = co_await shards_[at].opened.roll->expiring(std::move(span), std::move(cursor));
    if (!page) co_return page;
    const std::size_t next = page->cursor.empty() ? at + 1 : at;
    if (next < shards_.size()) page->cursor = std::to_string(next) + "/" + page->cursor;
    co_return page;
  }

  Async<std::vector<Held>> find(std::string id_begins, std::size_t limit) override {
    std::vector<Held> found;
    for (const Shard& shard : shards_) {
      Result<std::vector<Held>> there = co_await shard.opened.desk->find(id_begins, limit - found.size());
      if (!there) co_return there;
      for (Held& held : *there) found.push_back(std::move(held));
      if (found.size() >= limit) break;
    }
    co_return found;
  }

  // A cursor is the number of the shard in front of its own.
  Async<KeyList> list(KeyFilter filter, std::string cursor) override {
    std::size_t at = 0;
    if (!cursor.empty() && !take_shard(cursor, at)) {
      co_return fail(Code::invalid, "cursor: it is not one that a list has returned");
    }
    Result<KeyList> page = co_await shards_[at].opened.desk->list(filter, cursor);
    if (!page) co_return page;
    const bool there_is_more = !page->cursor.empty() || at + 1 < shards_.size();
    const std::size_t next = page->cursor.empty() ? at + 1 : at;
    if (there_is_more) page->cursor = std::to_string(next) + "/" + page->cursor;
    co_return page;
  }

  Async<void> settle(Digest id, core::Settlement settlement) override {
    Result<void> settled;
    for (const Shard& shard : shards_) {
      settled = co_await shard.opened.desk->settle(id, settlement);
      if (settled || settled.error().code != Code::fenced) break;
    }
    co_return settled;
  }

 private:
  // Takes the number in front of a cursor off. False if there is none.
  [[nodiscard]] bool take_shard(std::string& cursor, std::size_t& at) const {
    const std::size_t slash = cursor.find('/');
    const auto [end, error] = std::from_chars(cursor.data(), cursor.data() + std::min(slash, cursor.size()), at);
    const bool sound = slash != std::string::npos && error == std::errc() && end == cursor.data() + slash;
    if (!sound || at >= shards_.size()) return false;
    cursor.erase(0, slash + 1);
    return true;
  }

  const std::vector<Shard>& shards_;
};

class ShardedChanges : public RemoteChanges {
 public:
  explicit ShardedChanges(const std::vector<Shard>& shards) : shards_(shards) {}

  void watch(std::function<void(const Digest*)> changed) override {
    for (const Shard& shard : shards_) shard.opened.changes->watch(changed);
  }

 private:
  const std::vector<Shard>& shards_;
};

// In the order of the names, whatever that of the addresses is.
std::vector<const Shard*> by_name(const std::vector<Shard>& shards, const ShardNames& names) {
  std::vector<std::pair<std::string, const Shard*>> named;
  named.reserve(shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i) named.emplace_back(names.all[i], &shards[i]);
  std::ranges::sort(named);
  std::vector<const Shard*> sorted;
  sorted.reserve(named.size());
  for (const auto& [name, shard] : named) sorted.push_back(shard);
  return sorted;
}

template <class Part>
std::vector<Part*> parts_of(const std::vector<Shard>& shards, const ShardNames& names, Part* CapableStore::* part) {
  std::vector<Part*> parts;
  for (const Shard* const shard : by_name(shards, names)) parts.push_back(shard->opened.*part);
  return parts;
}

std::vector<PostgresJobs*> jobs_of(const std::vector<Shard>& shards, const ShardNames& names) {
  std::vector<PostgresJobs*> jobs;
  for (const Shard* const shard : by_name(shards, names)) jobs.push_back(shard->jobs);
  return jobs;
}

std::vector<ShardedInbox::Part> inboxes_of(const std::vector<Shard>& shards) {
  std::vector<ShardedInbox::Part> parts;
  parts.reserve(shards.size());
  for (const Shard& shard : shards) parts.push_back({.inbox = shard.opened.inbox, .desk = shard.opened.inbox_desk});
  return parts;
}

class ShardedStore : public Store, public Endings, public Reopening, public Lookup {
 public:
  ShardedStore(std::vector<Shard> shards, ShardNames names)
      : shards_(std::move(shards)),
        names_(std::move(names)),
        history_(parts_of(shards_, names_, &CapableStore::history)),
        notes_(parts_of(shards_, names_, &CapableStore::notes)),
        inbox_(inboxes_of(shards_),
               {.home = [this](const Key& key) { return shard_of(key, names_.all); },
                .former = [this](const Key& key) -> Lookup* {
                  const Shard* const former = former_of(key);
                  return former == nullptr ? nullptr : former->opened.lookup;
                },
                .first = static_cast<std::size_t>(std::ranges::min_element(names_.all) - names_.all.begin())}),
        jobs_(jobs_of(shards_, names_)) {
    for (const std::string& name : names_.former) {
      former_.push_back(static_cast<std::size_t>(std::ranges::find(names_.all, name) - names_.all.begin()));
    }
  }

  Desk& desk() { return desk_; }
  KeyRoll& roll() { return desk_; }
  RemoteChanges& changes() { return changes_; }
  History& history() { return history_; }
  Notes& notes() { return notes_; }
  ShardedInbox& inbox() { return inbox_; }
  ShardedJobs& jobs() { return jobs_; }

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override {
    Store& home = home_of(key);
    const Shard* const former = former_of(key);
    if (former == nullptr) return home.claim(std::move(key), fingerprint, terms);
    return claim_moved(former, &home, std::move(key), fingerprint, terms);
  }
  Async<void> renew(Key key, Fence fence, Millis lease) override {
    Result<void> done = co_await home_of(key).renew(key, fence, lease);
    const Shard* const former = former_of(key);
    if (former == nullptr || !is_fenced(done)) co_return done;
    co_return co_await former->opened.store->renew(std::move(key), fence, lease);
  }
  Async<void> complete(Key key, Fence fence, SharedResponse response) override {
    Result<void> done = co_await home_of(key).complete(key, fence, response);
    const Shard* const former = former_of(key);
    if (former == nullptr || !is_fenced(done)) co_return done;
    co_return co_await former->opened.store->complete(std::move(key), fence, std::move(response));
  }
  Async<void> release(Key key, Fence fence) override {
    Result<void> done = co_await home_of(key).release(key, fence);
    const Shard* const former = former_of(key);
    if (former == nullptr || !is_fenced(done)) co_return done;
    co_return co_await former->opened.store->release(std::move(key), fence);
  }
  // A shard that is down keeps no other from being swept.
  Async<std::size_t> sweep(std::size_t limit) override {
    Result<std::size_t> swept = 0;
    std::size_t total = 0;
    for (std::size_t i = 0; i < shards_.size() && total < limit; ++i) {
      Result<std::size_t> one = co_await shards_[i].opened.store->sweep(limit - total);
      if (one) total += *one;
      if (!one) swept = std::move(one);
    }
    if (total > 0 || swept) co_return total;
    co_return swept;
  }

  Async<bool> reopen(Key key) override {
    Result<bool> reopened = co_await shard_at_home(key).reopening->reopen(key);
    const Shard* const former = former_of(key);
    if (former == nullptr || !reopened || *reopened) co_return reopened;
    co_return co_await former->opened.reopening->reopen(std::move(key));
  }

  // As a claim looks for it: where the key was before, then where it belongs.
  Async<std::optional<Held>> look_up(Key key) override {
    if (const Shard* const former = former_of(key)) {
      Result<std::optional<Held>> there = co_await former->opened.lookup->look_up(key);
      if (!there || *there) co_return there;
    }
    Lookup* const home = shard_at_home(key).lookup;
    co_return co_await home->look_up(std::move(key));
  }

  void watch(std::function<void(const Digest&)> ended) override {
    for (const Shard& shard : shards_) shard.opened.endings->watch(ended);
  }
  void expect(const Key& key) override {
    const Shard* const former = former_of(key);
    shard_at_home(key).endings->expect(key);
    if (former != nullptr) former->opened.endings->expect(key);
  }

 private:
  static Async<Claim> claim_moved(const Shard* former, Store* home, Key key, Fingerprint fingerprint, Terms terms) {
    Result<std::optional<Claim>> there = co_await former->former->claim_former(key, fingerprint, terms);
    if (!there) co_return std::unexpected(std::move(there.error()));
    std::optional<Claim>& claim = *there;
    if (claim) co_return *std::move(claim);
    co_return co_await home->claim(std::move(key), fingerprint, terms);
  }
  // A claim is known where it was granted; the other place has no row of that owner.
  static bool is_fenced(const Result<void>& result) { return !result && result.error().code == Code::fenced; }

  const CapableStore& shard_at_home(const Key& key) const { return shards_[shard_of(key, names_.all)].opened; }
  Store& home_of(const Key& key) const { return *shard_at_home(key).store; }
  // Where the key was before, if it has moved since; else null. Keys with a home of their own never move: the set does
  // not change while any of them is remembered.
  const Shard* former_of(const Key& key) {
    if (former_.empty() || key.home != 0) return nullptr;
    const Shard* const former = &shards_[former_[shard_of(key, names_.former)]];
    return former->opened.store.get() == &home_of(key) ? nullptr : former;
  }

  std::vector<Shard> shards_;
  ShardNames names_;
  std::vector<std::size_t> former_;  // positions of names_.former
  ShardedDesk desk_{shards_};
  ShardedChanges changes_{shards_};
  ShardedHistory history_;
  ShardedNotes notes_;
  ShardedInbox inbox_;
  ShardedJobs jobs_;
};

}  // namespace

std::size_t shard_of(const Key& key, const std::vector<std::string>& names) {
  std::string_view place(reinterpret_cast<const char*>(key.id.data()), key.id.size());
  if (key.home != 0) place = {reinterpret_cast<const char*>(&key.home), sizeof(key.home)};
  std::size_t best = 0;
  Digest highest{};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Digest weight = core::sha256_parts("semel shard v1", {names[i], place});
    if (i > 0 && weight < highest) continue;
    best = i;
    highest = weight;
  }
  return best;
}

CapableStore make_sharded_store(std::vector<Shard> shards, ShardNames names) {
  const bool tells = std::ranges::all_of(shards, [](const Shard& shard) { return shard.opened.endings != nullptr; });
  const bool reopens =
      std::ranges::all_of(shards, [](const Shard& shard) { return shard.opened.reopening != nullptr; });
  const bool looks = std::ranges::all_of(shards, [](const Shard& shard) { return shard.opened.lookup != nullptr; });
  const bool remembers =
      std::ranges::all_of(shards, [](const Shard& shard) { return shard.opened.history != nullptr; });
  const bool sees = std::ranges::all_of(shards, [](const Shard& shard) { return shard.opened.desk != nullptr; });
  const bool queues = std::ranges::all_of(shards, [](const Shard& shard) { return shard.opened.inbox != nullptr; });
  const bool works = std::ranges::all_of(shards, [](const Shard& shard) { return shard.jobs != nullptr; });
  const bool changes = std::ranges::all_of(shards, [](const Shard& shard) { return shard.opened.changes != nullptr; });
  // One of them has the log, whatever the order of the addresses.
  const auto first = std::ranges::min_element(names.all) - names.all.begin();
  AuditLog* const audit = shards[static_cast<std::size_t>(first)].opened.audit;
  auto sharded = std::make_unique<ShardedStore>(std::move(shards), std::move(names));
  CapableStore opened;
  if (tells) opened.endings = sharded.get();
  if (reopens) opened.reopening = sharded.get();
  if (looks) opened.lookup = sharded.get();
  if (sees) opened.desk = &sharded->desk();
  if (changes) opened.changes = &sharded->changes();
  opened.audit = audit;
  if (queues) opened.inbox = &sharded->inbox();
  if (queues) opened.inbox_desk = &sharded->inbox();
  if (queues && works) opened.inbox_jobs = &sharded->jobs();
  if (remembers) opened.history = &sharded->history();
  opened.notes = &sharded->notes();
  opened.roll = &sharded->roll();
  opened.store = std::move(sharded);
  return opened;
}

}  // namespace semel::store::postgres
