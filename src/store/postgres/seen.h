// How far a database was when it was last seen. It only goes forward: what is behind this has been replaced, or is an
// older copy.
#pragma once

#include <compare>
#include <cstdint>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

namespace semel::store::postgres {

struct Reached {
  std::uint32_t timeline = 0;  // grows with every failover
  std::int64_t pulse = 0;      // raised by gateways while they write (schema_4_beat.cc); a failover may lose some
  std::string place{};         // where it was raised last (schema_6_reigns.cc); empty if that is not known

  auto operator<=>(const Reached& other) const {
    return std::tie(timeline, pulse) <=> std::tie(other.timeline, other.pulse);
  }
  bool operator==(const Reached& other) const = default;
};

// For all connections of a store to one database. May be used by any thread.
class NewestSeen {
 public:
  [[nodiscard]] Reached get() const {
    const std::scoped_lock lock(mutex_);
    return newest_;
  }
  void raise(Reached seen) {
    const std::scoped_lock lock(mutex_);
    if (newest_ < seen) newest_ = std::move(seen);
  }

 private:
  mutable std::mutex mutex_;
  Reached newest_;
};

}  // namespace semel::store::postgres
