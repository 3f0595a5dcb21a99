// The index by expiry, read as a roll of keys. From any thread.
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include "store/embedded/index_key.h"
#include "store/embedded/ledger.h"
#include "store/embedded/rocks_ledger.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {

Result<std::vector<Expiry>> RocksLedger::roll(const Expiry& behind, Time to, std::size_t limit) {
  std::vector<Expiry> found;
  rocksdb::ReadOptions options;
  options.fill_cache = false;  // each entry is read once, and others are in use
  const std::unique_ptr<rocksdb::Iterator> it(engine_->db().NewIterator(options, engine_->index()));
  const IndexKey begin(IndexKey::expiry, behind);
  for (it->Seek(begin.slice()); it->Valid() && found.size() < limit; it->Next()) {
    const std::optional<Expiry> entry = IndexKey::parse(IndexKey::expiry, it->key());
    if (!entry || entry->at >= to) break;
    if (behind < *entry) found.push_back(*entry);
  }
  if (it->status().ok()) return found;
  return fail(Code::unavailable, "the expiry index cannot be read: " + it->status().ToString());
}

}  // namespace semel::store::embedded
