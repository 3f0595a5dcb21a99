// The index by which a sweep finds what has expired without looking at what has not.
//
// Its keys are those of index_key.h, in the order of time. Belongs to the thread that commits.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <rocksdb/write_batch.h>

#include "store/embedded/ledger.h"
#include "store/embedded/rocks_engine.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {

class ExpiryIndex {
 public:
  explicit ExpiryIndex(RocksEngine& engine) : engine_(engine) {}

  // Adds to `batch` that the old entry of the change goes, and remembers the new one for finish().
  void add(const Change& change, rocksdb::WriteBatch& batch);
  // Adds the new entries, in their order.
  void finish(rocksdb::WriteBatch& batch);

  // See Ledger::expiries().
  Result<std::vector<Expiry>> find(Time now, std::size_t limit, const std::optional<Expiry>& after);

 private:
  RocksEngine& engine_;
  std::vector<Expiry> entries_;  // that the batch adds
  Time begins_ = Time::min();    // no entry is earlier: in front of it there is only what sweeps have deleted
};

}  // namespace semel::store::embedded
