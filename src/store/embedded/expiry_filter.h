// Lets compaction drop records that ended and expired long ago, so that space comes back even without sweeps.
//
// It drops only records that every reader already counts as absent, with a margin of an hour. It never drops a running
// claim, an unknown outcome, or anything that it does not understand.
#pragma once

#include <atomic>
#include <string>

#include <rocksdb/compaction_filter.h>

#include <semel/clock.h>

namespace semel::store::embedded {

class ExpiryFilter : public rocksdb::CompactionFilter {
 public:
  static constexpr Millis margin{3'600'000};

  // The time of the last commit; compaction runs on threads of its own.
  void set_time(Time now) { now_.store(now, std::memory_order_relaxed); }

  [[nodiscard]] const char* Name() const override { return "semel.expiry.1"; }
  bool Filter(int level, const rocksdb::Slice& key, const rocksdb::Slice& value, std::string* new_value,
              bool* value_changed) const override;

 private:
  std::atomic<Time> now_{Time{}};
};

}  // namespace semel::store::embedded
