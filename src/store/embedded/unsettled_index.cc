// Changes come in batches: what a batch does to the engine goes with it, what it does to memory follows.
#include "store/embedded/unsettled_index.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>
#include <rocksdb/write_batch.h>

#include "store/cursor.h"
#include "store/embedded/index_key.h"
#include "store/embedded/ledger.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::embedded {
namespace {

constexpr std::size_t aged_at_once_max = 256;

IndexKey key_of(const ListPlace& place) {
  return {IndexKey::unsettled, {.at = place.at, .id = place.id}};
}

// What a change means here. A place is where the record stands, in memory or in the engine.
struct Move {
  explicit Move(const Change& change) {
    if (change.replaced_unsettled) from = {.at = *change.replaced_unsettled, .id = change.id};
    const std::optional<Time> stands_at = change.record ? unsettled_since(*change.record) : std::nullopt;
    if (!stands_at) return;
    to = {.at = *stands_at, .id = change.id};
    runs = change.record->state == Record::State::running;
  }

  std::optional<ListPlace> from;
  std::optional<ListPlace> to;
  bool runs = false;  // the record at `to`
};

}  // namespace

Result<void> UnsettledIndex::start(std::vector<ListPlace> running) {
  std::ranges::sort(running);
  const std::scoped_lock lock(mutex_);
  for (const ListPlace& claim : running) {
    rocksdb::PinnableSlice none;
    const rocksdb::Status status = engine_.db().Get({}, engine_.index(), key_of(claim).slice(), &none);
    if (status.IsNotFound()) running_.add(claim);
    if (status.ok() || status.IsNotFound()) continue;
    return fail(Code::unavailable, "the index of unsettled keys cannot be read: " + status.ToString());
  }
  return {};
}

void UnsettledIndex::add(const Change& change, rocksdb::WriteBatch& batch) const {
  const Move move(change);
  const bool indexed = move.from && !running_.has(*move.from);
  if (indexed && move.to == move.from) return;
  if (indexed) batch.Delete(engine_.index(), key_of(*move.from).slice()).PermitUncheckedError();
  if (move.to && !move.runs) batch.Put(engine_.index(), key_of(*move.to).slice(), {}).PermitUncheckedError();
}

void UnsettledIndex::age(Time now, std::span<const Change> changes, rocksdb::WriteBatch& batch) {
  for (const ListPlace& claim : running_.behind({.at = Time::min(), .id = {}}, aged_at_once_max)) {
    if (claim.at + in_memory_max > now) return;
    if (std::ranges::any_of(changes, [&](const Change& change) { return change.id == claim.id; })) continue;
    batch.Put(engine_.index(), key_of(claim).slice(), {}).PermitUncheckedError();
    aged_.push_back(claim);
  }
}

void UnsettledIndex::committed(std::span<const Change> changes) {
  const std::scoped_lock lock(mutex_);
  for (const Change& change : changes) {
    const Move move(change);
    if (move.from && (!move.runs || move.to != move.from)) running_.remove(*move.from);
    if (!move.to) continue;
    if (move.runs && move.to != move.from) running_.add(*move.to);
    if (move.runs) continue;
    begins_ = std::min(begins_, move.to->at);
    ++additions_;
  }
  for (const ListPlace& claim : aged_) {
    running_.remove(claim);
    begins_ = std::min(begins_, claim.at);
    ++additions_;
  }
  aged_.clear();
}

UnsettledIndex::Outset UnsettledIndex::outset(const ListPlace& after, std::size_t limit) const {
  const std::scoped_lock lock(mutex_);
  return {.running = running_.behind(after, limit), .beginning = {.at = begins_, .id = {}}, .additions = additions_};
}

// An entry that came since may stand before `at`.
void UnsettledIndex::begins(Time at, const Outset& outset) {
  const std::scoped_lock lock(mutex_);
  if (additions_ == outset.additions) begins_ = at;
}

Result<std::vector<ListPlace>> UnsettledIndex::find(const ListPlace& after, std::size_t limit) const {
  std::vector<ListPlace> found;
  const std::unique_ptr<rocksdb::Iterator> it(engine_.db().NewIterator({}, engine_.index()));
  for (it->Seek(key_of(after).slice()); it->Valid() && found.size() < limit; it->Next()) {
    const std::optional<Expiry> entry = IndexKey::parse(IndexKey::unsettled, it->key());
    if (!entry) break;
    const ListPlace place{.at = entry->at, .id = entry->id};
    if (after < place) found.push_back(place);
  }
  if (!it->status().ok()) {
    return fail(Code::unavailable, "the index of unsettled keys cannot be read: " + it->status().ToString());
  }
  return found;
}

}  // namespace semel::store::embedded
