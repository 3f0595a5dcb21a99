// The reference store: one mutex, one map, and the state machine of core/transition.h.
//
// Every call is one step under the mutex, and the time is read inside it, so calls are in the order of their times.
// Nothing here waits: a call has ended when its coroutine is first resumed.
//
//   records_      key → record, and where it stands in vanishing_
//   vanishing_    when the record counts as absent → key id, earliest first: sweep() reads only what has expired
#include "store/memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/settlement.h"
#include "core/terms.h"
#include "core/transition.h"
#include "store/audit_log.h"
#include "store/capable_store.h"
#include "store/cursor.h"
#include "store/desk.h"
#include "store/history.h"
#include "store/inbox_table.h"
#include "store/key_roll.h"
#include "store/lookup.h"
#include "store/memory_history.h"
#include "store/memory_inbox.h"
#include "store/memory_notes.h"
#include "store/notes.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/reopening.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel {
namespace {

// The first millisecond at which expired() holds, if the record stays as it is.
Time vanishes_at(const Record& record) {
  return record.state == Record::State::running ? std::max(record.expires_at, record.lease_until) : record.expires_at;
}

class MemoryStore : public Store,
                    public Reopening,
                    public store::Lookup,
                    public store::Desk,
                    public store::AuditLog,
                    public store::KeyRoll,
                    private store::KeyRecords {
 public:
  explicit MemoryStore(Clock& clock) : clock_(clock), inbox_(clock, mutex_, *this) {}

  store::MemoryInbox& inbox() { return inbox_; }

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override {
    if (Result<void> sound = core::check_terms(terms); !sound) co_return std::unexpected(std::move(sound.error()));
    co_return take(key, fingerprint, terms);
  }

  Async<void> renew(Key key, Fence fence, Millis lease) override {
    if (Result<void> sound = core::check_lease(lease); !sound) co_return sound;
    co_return hold(key, [&](const Record* stored, Time now) { return core::step_renew(stored, fence, lease, now); });
  }

  Async<void> complete(Key key, Fence fence, SharedResponse response) override {
    co_return hold(key,
                   [&](const Record* stored, Time now) { return core::step_complete(stored, fence, response, now); });
  }

  Async<void> release(Key key, Fence fence) override {
    co_return hold(key, [&](const Record* stored, Time now) { return core::step_release(stored, fence, now); });
  }

  Async<std::size_t> sweep(std::size_t limit) override { co_return remove_expired(limit); }

  Async<bool> reopen(Key key) override { co_return free(key); }

  Async<std::optional<Held>> look_up(Key key) override {
    const std::scoped_lock lock(mutex_);
    co_return core::step_look(stored_under(key), clock_.now());
  }

  Async<std::vector<Held>> find(std::string id_begins, std::size_t limit) override {
    std::vector<Held> found = sighted([&](const Held& held, Time) { return text_of(held).starts_with(id_begins); });
    if (found.size() > limit) found.resize(limit);
    if (found.empty() && id_begins.size() == sizeof(Digest)) co_return last_event(id_begins);
    co_return found;
  }

  // Everything is looked at: this store is for tests.
  Async<store::KeyList> list(store::KeyFilter filter, std::string cursor) override {
    const std::optional<store::ListPlace> from = store::from_cursor(cursor);
    if (!from && !cursor.empty()) co_return fail(Code::invalid, "cursor: it is not one that a list has returned");
    store::KeyList list{.items = {}, .cursor = {}, .searched_to = clock_.now()};
    list.items = sighted(
        [&](const Held& held, Time now) { return filter.takes(held, now) && (!from || *from < place_of(held)); });
    if (list.items.size() <= filter.items_max) co_return list;
    list.items.resize(filter.items_max);
    list.cursor = store::to_cursor(place_of(list.items.back()));
    list.searched_to = list.items.back().record.claimed_at;
    co_return list;
  }

  Async<store::AuditEntry> append(std::string text) override {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t number = acts_.size() + 1;
    const Digest previous = acts_.empty() ? Digest{} : acts_.back().hash;
    const Digest hash = store::audit_hash(previous, number, text);
    acts_.push_back({.number = number, .hash = hash, .text = std::move(text)});
    co_return acts_.back();
  }
  Async<std::vector<store::AuditEntry>> read(std::uint64_t after, std::size_t limit) override {
    const std::scoped_lock lock(mutex_);
    std::vector<store::AuditEntry> found;
    for (std::size_t at = after; at < acts_.size() && found.size() < limit; ++at) found.push_back(acts_[at]);
    co_return found;
  }

  // Everything is looked at, and it is one page.
  Async<store::RollPage> expiring(store::RollSpan span, std::string cursor) override {
    if (!cursor.empty()) co_return fail(Code::invalid, "cursor: it is not one that a roll has returned");
    const std::scoped_lock lock(mutex_);
    store::RollPage page;
    for (const auto& [key, kept] : records_) {
      const Record& record = kept.record;
      const bool there = record.state != Record::State::object && record.key.space == span.space;
      if (!there || record.expires_at < span.from || record.expires_at >= span.to) continue;
      page.items.push_back({.id = record.key.id,
                            .state = record.state,
                            .claimed_at = record.claimed_at,
                            .expires_at = record.expires_at});
    }
    co_return page;
  }

  store::History& history() { return history_; }
  store::Notes& notes() { return notes_; }

  Async<void> settle(Digest id, core::Settlement settlement) override {
    const Key key{.id = id, .scope = {}, .space = {}};
    co_return hold(key, [&](const Record* stored, Time now) { return core::step_settle(stored, settlement, now); });
  }

 private:
  using Vanishing = std::multimap<Time, Digest>;
  struct Kept {
    Record record;
    Vanishing::iterator vanishing;
  };

  Claim take(const Key& key, const Fingerprint& fingerprint, const Terms& terms) {
    const std::scoped_lock lock(mutex_);
    const Time now = clock_.now();
    core::ClaimStep step = core::step_claim(stored_under(key), key, fingerprint, terms, now);
    if (step.store && terms.order != nullptr) {
      const Record* const mark = stored_under(terms.order->object);
      core::OrderStep turn = core::step_order(mark, latest_of(mark), *terms.order, *step.store, now);
      if (turn.refusal) return *std::move(turn.refusal);
      put(std::move(core::present(turn.mark, "an event that has its turn moves its object's mark")));
    }
    if (step.store) put(std::move(*step.store));
    return std::move(step.answer);
  }

  template <class Step>
  Result<void> hold(const Key& key, Step&& step) {
    const std::scoped_lock lock(mutex_);
    core::HolderStep next = step(stored_under(key), clock_.now());
    if (!next) return std::unexpected(std::move(next.error()));
    std::optional<Record> record = std::move(*next);
    if (record) put(std::move(*record));
    return {};
  }

  bool free(const Key& key) {
    const std::scoped_lock lock(mutex_);
    std::optional<Record> next = core::step_reopen(stored_under(key), clock_.now());
    const bool ended = next.has_value();
    if (ended) put(*std::move(next));
    return ended;
  }

  static std::string_view text_of(const Held& held) {
    const Digest& id = held.record.key.id;
    return {reinterpret_cast<const char*>(id.data()), id.size()};
  }
  static store::ListPlace place_of(const Held& held) {
    return {.at = held.record.claimed_at, .id = held.record.key.id};
  }

  // The oldest first.
  template <class Takes>
  std::vector<Held> sighted(const Takes& takes) {
    const std::scoped_lock lock(mutex_);
    const Time now = clock_.now();
    std::vector<Held> found;
    for (const auto& [key, kept] : records_) {
      if (kept.record.state == Record::State::object) continue;
      std::optional<Held> held = core::step_look(&kept.record, now);
      if (held && takes(*held, now)) found.push_back(*std::move(held));
    }
    std::ranges::sort(found, {}, place_of);
    return found;
  }

  // Of the object with this id.
  std::vector<Held> last_event(const std::string& id) {
    const std::scoped_lock lock(mutex_);
    Key key;
    std::ranges::copy(id, key.id.begin());
    const auto found = records_.find(key);
    if (found == records_.end() || found->second.record.progress == nullptr) return {};
    key.id = found->second.record.progress->event;
    std::optional<Held> held = core::step_look(stored_under(key), clock_.now());
    return held ? std::vector<Held>{*std::move(held)} : std::vector<Held>{};
  }

  Result<const Record*> find_record(const Digest& id) override {
    return stored_under(Key{.id = id, .scope = {}, .space = {}});
  }
  void put_record(Record record) override { put(std::move(record)); }
  Result<void> admit_record() override { return {}; }

  std::size_t remove_expired(std::size_t limit) {
    const std::scoped_lock lock(mutex_);
    const Time now = clock_.now();
    std::size_t removed = 0;
    for (auto entry = vanishing_.begin(); removed < limit && entry != vanishing_.end() && entry->first <= now;) {
      const auto found = records_.find(Key{.id = entry->second, .scope = {}, .space = {}});
      core::check(found != records_.end() && core::expired(found->second.record, now),
                  "the expiry index names records that have expired");
      if (core::in_use(found->second.record, latest_of(&found->second.record), now)) {
        ++entry;
        continue;
      }
      records_.erase(found);
      entry = vanishing_.erase(entry);
      ++removed;
    }
    return removed;
  }

  // The event that an object's record names.
  const Record* latest_of(const Record* object) const {
    if (object == nullptr || object->state != Record::State::object) return nullptr;
    return stored_under(Key{.id = object->progress->event, .scope = {}, .space = {}});
  }

  const Record* stored_under(const Key& key) const {
    const auto found = records_.find(key);
    return found == records_.end() ? nullptr : &found->second.record;
  }

  void put(Record record) {
    const auto [entry, added] = records_.try_emplace(record.key);
    Kept& kept = entry->second;
    const Time at = vanishes_at(record);
    if (added || kept.vanishing->first != at) {
      if (!added) vanishing_.erase(kept.vanishing);
      kept.vanishing = vanishing_.emplace_hint(vanishing_.end(), at, record.key.id);  // mostly it is the last to go
    }
    kept.record = std::move(record);
  }

  Clock& clock_;
  std::mutex mutex_;
  std::unordered_map<Key, Kept> records_;
  Vanishing vanishing_;
  std::vector<store::AuditEntry> acts_;
  store::MemoryHistory history_;
  store::MemoryNotes notes_;
  store::MemoryInbox inbox_;
};

}  // namespace

OpenedStore make_memory_store(Clock& clock) {
  return store::make_capable_memory_store(clock);
}

namespace store {

CapableStore make_capable_memory_store(Clock& clock) {
  auto memory = std::make_unique<MemoryStore>(clock);
  CapableStore opened;
  opened.reopening = memory.get();
  opened.lookup = memory.get();
  opened.desk = memory.get();
  opened.audit = memory.get();
  opened.roll = memory.get();
  opened.history = &memory->history();
  opened.notes = &memory->notes();
  opened.inbox = &memory->inbox();
  opened.inbox_desk = &memory->inbox();
  opened.inbox_jobs = &memory->inbox();
  opened.store = std::move(memory);
  return opened;
}

}  // namespace store
}  // namespace semel
