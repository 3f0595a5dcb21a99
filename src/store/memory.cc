// The reference store: one mutex, one map, and the state machine of core/transition.h.
//
// Every call is one step under the mutex, and the time is read inside it, so calls are in the order of their times.
// Nothing here waits: a call has ended when its coroutine is first resumed.
//
//   records_      key → record, and where it stands in vanishing_
//   vanishing_    when the record counts as absent → key id, earliest first: sweep() reads only what has expired

#include <algorithm>
#include <cstddef>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "core/terms.h"
#include "core/transition.h"
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

class MemoryStore : public Store, public Reopening {
 public:
  explicit MemoryStore(Clock& clock) : clock_(clock) {}

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

 private:
  using Vanishing = std::multimap<Time, Digest>;
  struct Kept {
    Record record;
    Vanishing::iterator vanishing;
  };

  Claim take(const Key& key, const Fingerprint& fingerprint, const Terms& terms) {
    const std::scoped_lock lock(mutex_);
    const Time now = clock_.now();
    core::ClaimStep step = core::step_claim(find(key), key, fingerprint, terms, now);
    if (step.store && terms.order != nullptr) {
      const Record* const mark = find(terms.order->object);
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
    core::HolderStep next = step(find(key), clock_.now());
    if (!next) return std::unexpected(std::move(next.error()));
    std::optional<Record> record = std::move(*next);
    if (record) put(std::move(*record));
    return {};
  }

  bool free(const Key& key) {
    const std::scoped_lock lock(mutex_);
    std::optional<Record> next = core::step_reopen(find(key), clock_.now());
    const bool ended = next.has_value();
    if (ended) put(*std::move(next));
    return ended;
  }

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
    return find(Key{.id = object->progress->event, .scope = {}, .space = {}});
  }

  const Record* find(const Key& key) const {
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
};

}  // namespace

OpenedStore make_memory_store(Clock& clock) {
  auto store = std::make_unique<MemoryStore>(clock);
  MemoryStore& memory = *store;
  return {.store = std::move(store), .reopening = &memory};
}

}  // namespace semel
