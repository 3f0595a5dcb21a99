// The keys that mode = "observe" has seen of late, in memory only, to count what would have happened to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include <semel/fingerprint.h>
#include <semel/key.h>

namespace semel::telemetry {

// Shared by all threads.
class Sightings {
 public:
  enum class Sight : std::uint8_t { first, same, other };

  // Whether the key was seen before, with the same request or with another.
  Sight look(const Key& key, const Fingerprint& fingerprint);

 private:
  static constexpr std::size_t generation_keys_max = 100'000;

  std::mutex mutex_;
  // Two generations: when the young one is full it becomes the old one, and the old one is forgotten.
  std::unordered_map<Key, Fingerprint> young_;
  std::unordered_map<Key, Fingerprint> old_;
};

}  // namespace semel::telemetry
