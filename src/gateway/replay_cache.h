// Answers of hot keys, so that a replay need not ask the store.
//
// Only ended keys are here, and an ended key does not change before it expires, by the clock of the store. An entry is
// trusted for a few seconds only, so that what an operator does to a key on another gateway is seen even if its message
// gets lost. Bounded in bytes;
// the entry that was not asked for the longest goes first. Used by one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <unordered_map>

#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::gateway {

class ReplayCache {
 public:
  static constexpr Millis trusted_for{5'000};

  ReplayCache(Clock& clock, std::size_t bytes_max) : clock_(clock), bytes_max_(bytes_max) {}

  struct Entry {
    Key key;
    Fingerprint fingerprint;
    SharedResponse response;
    Fence fence;
    Time expires_at;     // by the store's clock, to be told
    Time trusted_until;  // by ours
    std::size_t bytes;   // that it counts for
  };

  // Valid until the next call.
  const Entry* find(const Key& key);
  // `asked` says when the store was asked, by the clock's stopwatch: an answer from before the last forgetting may be
  // the one that was to be forgotten, and is not taken.
  void put(const Key& key, const Fingerprint& fingerprint, const Replayed& answer, std::chrono::nanoseconds asked);
  // An operator has changed the key.
  void forget(const Key& key);
  // An operator has changed a key, and nobody can say which.
  void forget_all();

 private:
  using Entries = std::list<Entry>;
  void remove(const Key& key);
  void drop(Entries::iterator entry);

  Clock& clock_;
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  Entries entries_;  // most recently used first
  std::unordered_map<Key, Entries::iterator> by_key_;
  std::optional<std::chrono::nanoseconds> forgot_at_;  // by the clock's stopwatch; null if nothing was to be forgotten
};

}  // namespace semel::gateway
