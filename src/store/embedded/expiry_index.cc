#include "store/embedded/expiry_index.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/status.h>
#include <rocksdb/write_batch.h>

#include "store/embedded/index_key.h"
#include "store/embedded/ledger.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {

void ExpiryIndex::add(const Change& change, rocksdb::WriteBatch& batch) {
  const std::optional<Time> stands_at = change.record ? std::optional(change.record->expires_at) : std::nullopt;
  if (change.replaced_expiry == stands_at) return;
  if (change.replaced_expiry) {
    const IndexKey old(IndexKey::expiry, {.at = *change.replaced_expiry, .id = change.id});
    batch.Delete(engine_.index(), old.slice()).PermitUncheckedError();
  }
  if (stands_at) {
    entries_.push_back({.at = *stands_at, .id = change.id});
    begins_ = std::min(begins_, *stands_at);
  }
}

// Each goes in right behind the one before it: most are the latest there are.
void ExpiryIndex::finish(rocksdb::WriteBatch& batch) {
  std::ranges::sort(entries_);
  for (const Expiry& entry : entries_) {
    batch.Put(engine_.index(), IndexKey(IndexKey::expiry, entry).slice(), {}).PermitUncheckedError();
  }
  entries_.clear();
}

Result<std::vector<Expiry>> ExpiryIndex::find(Time now, std::size_t limit, const std::optional<Expiry>& after) {
  std::vector<Expiry> found;
  const std::unique_ptr<rocksdb::Iterator> it(engine_.db().NewIterator({}, engine_.index()));
  const IndexKey begin(IndexKey::expiry, after ? *after : Expiry{.at = begins_, .id = {}});
  it->Seek(begin.slice());
  std::optional<Expiry> entry;
  for (; it->Valid() && found.size() < limit; it->Next()) {
    entry = IndexKey::parse(IndexKey::expiry, it->key());
    if (!entry || entry->at > now) break;
    if (!after || *after < *entry) found.push_back(*entry);
  }
  if (!it->status().ok()) {
    return fail(Code::unavailable, "the expiry index cannot be read: " + it->status().ToString());
  }
  if (!after && !found.empty()) begins_ = found.front().at;
  if (!after && found.empty()) begins_ = entry ? entry->at : now;
  return found;
}

}  // namespace semel::store::embedded
