// How far a database was when it was last seen. It only goes forward: what is behind this has been replaced, or is an
// older copy.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

namespace semel::store::postgres {

struct Reached {
  std::uint32_t timeline = 0;  // grows with every failover of a cluster; those of two clusters cannot be compared
  std::int64_t pulse = 0;      // raised by gateways while they write (schema_4_beat.cc); a failover may lose some
  std::string place{};         // where it was raised last (schema_6_reigns.cc); empty if that is not known
  std::string home{};          // where the database lives (Server::home); empty if that is not known

  bool operator==(const Reached& other) const = default;
};

// Whether the database of `before` was further then than `seen` says.
inline bool is_behind(const Reached& seen, const Reached& before) {
  return std::tie(seen.timeline, seen.pulse) < std::tie(before.timeline, before.pulse);
}

// Whether `seen` says more than `before`, of the same database.
inline bool is_beyond(const Reached& seen, const Reached& before) {
  if (before.home.empty()) return is_behind(before, seen) || (!is_behind(seen, before) && !seen.home.empty());
  return seen.home == before.home && is_behind(before, seen);
}

// What was known when a connection was made.
struct Greeted {
  std::uint32_t timeline = 0;  // of the server
  std::uint64_t doubts = 0;    // NewestSeen::doubts(), before the server was asked
};

// For all connections of a store to one database. May be used by any thread.
class NewestSeen {
 public:
  [[nodiscard]] Reached get() const {
    const std::scoped_lock lock(mutex_);
    return newest_;
  }
  // Returns the newest, which is something else than `seen` if that says less, or is about another database.
  Reached raise(Reached seen) {
    const std::scoped_lock lock(mutex_);
    if (is_beyond(seen, newest_)) newest_ = std::move(seen);
    timeline_.store(newest_.timeline, std::memory_order_release);
    return newest_;
  }

  // A server has said less than was known before it was asked. Which connections lead to such a one is to be seen.
  void doubt() { doubts_.fetch_add(1, std::memory_order_release); }
  [[nodiscard]] std::uint64_t doubts() const { return doubts_.load(std::memory_order_acquire); }

  // Whether a connection must not be used before its server has been greeted again: another one has taken over, as any
  // connection of this process has seen, or it is doubted. Asked before each call, so it takes no lock.
  [[nodiscard]] bool overtakes(const Greeted& greeted) const {
    return greeted.timeline < timeline_.load(std::memory_order_acquire) || greeted.doubts < doubts();
  }

 private:
  mutable std::mutex mutex_;
  Reached newest_;
  std::atomic<std::uint32_t> timeline_ = 0;  // of newest_
  std::atomic<std::uint64_t> doubts_ = 0;
};

}  // namespace semel::store::postgres
