#include "store/embedded/unsettled_index.h"

#include <cstddef>
#include <memory>
#include <optional>
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

namespace semel::store::embedded {

void UnsettledIndex::add(const Change& change, rocksdb::WriteBatch& batch) {
  const std::optional<Time> stands_at = change.record ? unsettled_since(*change.record) : std::nullopt;
  if (change.replaced_unsettled == stands_at) return;
  if (change.replaced_unsettled) {
    const IndexKey old(IndexKey::unsettled, {.at = *change.replaced_unsettled, .id = change.id});
    batch.Delete(engine_.index(), old.slice()).PermitUncheckedError();
  }
  if (stands_at) {
    const IndexKey entry(IndexKey::unsettled, {.at = *stands_at, .id = change.id});
    batch.Put(engine_.index(), entry.slice(), {}).PermitUncheckedError();
  }
}

Result<std::vector<ListPlace>> UnsettledIndex::find(const ListPlace& after, std::size_t limit) const {
  std::vector<ListPlace> found;
  const std::unique_ptr<rocksdb::Iterator> it(engine_.db().NewIterator({}, engine_.index()));
  const IndexKey begin(IndexKey::unsettled, {.at = after.at, .id = after.id});
  for (it->Seek(begin.slice()); it->Valid() && found.size() < limit; it->Next()) {
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
