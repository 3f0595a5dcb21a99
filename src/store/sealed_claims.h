// What a sealed store remembers of keys that are under way, because their names cannot be turned back
// (sealed_store.cc).
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/store.h>

namespace semel::store {

inline constexpr std::size_t claims_max = 100'000;   // remembered; only claims that never end add up to that
inline constexpr std::size_t awaited_max = 100'000;  // remembered; only endings that are never told add up to that

inline Key nameless(const Digest& id) {
  return {.id = id, .scope = {}, .space = {}};
}

// The claims that were granted here and have not ended, by the ids that the store has.
class Claims {
 public:
  struct Live {
    Fence fence;
    Fingerprint fingerprint;
    Digest asked{};  // the id that the layers above have
  };

  void add(const Digest& id, const Live& claim) {
    const std::scoped_lock lock(mutex_);
    if (live_.size() >= claims_max) live_.clear();
    live_.insert_or_assign(nameless(id), claim);
  }
  std::optional<Fingerprint> find(const Digest& id, Fence fence) {
    const std::scoped_lock lock(mutex_);
    const auto found = live_.find(nameless(id));
    if (found == live_.end() || found->second.fence != fence) return std::nullopt;
    return found->second.fingerprint;
  }
  std::optional<Digest> asked(const Digest& id) {
    const std::scoped_lock lock(mutex_);
    const auto found = live_.find(nameless(id));
    return found == live_.end() ? std::nullopt : std::optional(found->second.asked);
  }
  void end(const Digest& id, Fence fence) {
    const std::scoped_lock lock(mutex_);
    const auto found = live_.find(nameless(id));
    if (found != live_.end() && found->second.fence == fence) live_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Key, Live> live_;
};

// Keys whose end is waited for: for each id of the store, the id that the layers above have. For a key that runs on
// another node only the store's id is known here, so the layers above use that one.
class Awaited {
 public:
  void add(const Digest& id, const Digest& asked) {
    const std::scoped_lock lock(mutex_);
    if (asked_.size() >= awaited_max) asked_.clear();
    asked_.insert_or_assign(nameless(id), asked);
  }
  bool is_of_the_store(const Digest& id) {
    const std::scoped_lock lock(mutex_);
    const auto found = asked_.find(nameless(id));
    return found != asked_.end() && found->second == id;
  }
  // Forgets it: a caller that goes on waiting says so again.
  Digest take(const Digest& id) {
    const std::scoped_lock lock(mutex_);
    const auto node = asked_.extract(nameless(id));
    return node.empty() ? id : node.mapped();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Key, Digest> asked_;
};

}  // namespace semel::store
