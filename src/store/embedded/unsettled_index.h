// The index by which an operator's list finds what is running or of unknown outcome, oldest claim first, without
// looking at what has ended.
//
//   a claim that runs           in memory; found again after a crash by the notes of the tables (running_note.h)
//   one that runs for long      in the engine, under the keys of index_key.h, by the time of the claim
//   a key of unknown outcome    in the engine
//
// So most claims begin and end without a write here. Lists begin behind what earlier ones found to be deleted. A
// SingleDelete would leave less behind, but when the engine drops both writes it also forgets their sequence number,
// and then the store looks shorter than its marker says. What a version of Semel without this index left unknown has no
// entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include <rocksdb/write_batch.h>

#include "store/cursor.h"
#include "store/embedded/ledger.h"
#include "store/embedded/rocks_engine.h"
#include "store/embedded/running_claims.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {

class UnsettledIndex {
 public:
  // A claim that runs for longer goes to the engine, so that memory holds only those of so long.
  static constexpr Millis in_memory_max{60'000};

  explicit UnsettledIndex(RocksEngine& engine) : engine_(engine) {}

  // Call this before anything else with the claims that run.
  Result<void> start(std::vector<ListPlace> running);

  // These belong to the thread that commits. add() and age() add to `batch` what the changes, and time, do to the
  // index; committed() follows when readers see the batch.
  void add(const Change& change, rocksdb::WriteBatch& batch) const;
  void age(Time now, std::span<const Change> changes, rocksdb::WriteBatch& batch);
  void committed(std::span<const Change> changes);

  // A list begins with this and then asks find(). Nothing is missing in both: what moves from memory to the engine is
  // in both for a moment. From any thread, as is all that follows.
  struct Outset {
    std::vector<ListPlace> running;  // behind the place, at most as many as were asked for, in order
    ListPlace beginning;             // nothing in the engine comes before this
    std::uint64_t additions;
  };
  [[nodiscard]] Outset outset(const ListPlace& after, std::size_t limit) const;

  // At most `limit` entries of the engine behind `after`, in order.
  [[nodiscard]] Result<std::vector<ListPlace>> find(const ListPlace& after, std::size_t limit) const;

  // A list from this outset found nothing in the engine before `at`.
  void begins(Time at, const Outset& outset);

 private:
  RocksEngine& engine_;
  std::vector<ListPlace> aged_;  // by the batch that is being committed
  mutable std::mutex mutex_;  // of what follows; the thread that commits reads without it, because nobody else writes
  RunningClaims running_;
  Time begins_ = Time::min();
  std::uint64_t additions_ = 0;  // to the engine
};

}  // namespace semel::store::embedded
