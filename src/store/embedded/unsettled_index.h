// The index by which an operator's list finds what is running or of unknown outcome, oldest claim first, without
// looking at what has ended.
//
// Its keys are those of index_key.h, by the time of the claim: made with the claim, and deleted with its end. Lists
// begin behind what earlier ones found to be deleted. A SingleDelete would leave less behind, but when the engine drops
// both writes it also forgets their sequence number, and then the store looks shorter than its marker says. What was
// claimed by a version of Semel without this index has no entry.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <rocksdb/write_batch.h>

#include "store/cursor.h"
#include "store/embedded/ledger.h"
#include "store/embedded/rocks_engine.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {

class UnsettledIndex {
 public:
  explicit UnsettledIndex(RocksEngine& engine) : engine_(engine) {}

  // Adds to `batch` what the change does to the index. Belongs to the thread that commits.
  void add(const Change& change, rocksdb::WriteBatch& batch);

  // At most `limit` entries behind `after`, in order. From any thread.
  [[nodiscard]] Result<std::vector<ListPlace>> find(const ListPlace& after, std::size_t limit) const;

  // A list that began at the very beginning found nothing before `at`. Claims come in the order of time, so none will.
  // From any thread.
  void begins(Time at) { begins_.store(at.time_since_epoch().count(), std::memory_order_relaxed); }
  [[nodiscard]] ListPlace beginning() const {
    return {.at = Time{Millis{begins_.load(std::memory_order_relaxed)}}, .id = {}};
  }

 private:
  RocksEngine& engine_;
  std::atomic<std::int64_t> begins_{std::numeric_limits<std::int64_t>::min()};
};

}  // namespace semel::store::embedded
