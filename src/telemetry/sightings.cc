#include "telemetry/sightings.h"

#include <mutex>
#include <utility>

#include <semel/fingerprint.h>
#include <semel/key.h>

namespace semel::telemetry {

Sightings::Sight Sightings::look(const Key& key, const Fingerprint& fingerprint) {
  const std::scoped_lock lock(mutex_);
  for (const auto* generation : {&young_, &old_}) {
    if (const auto seen = generation->find(key); seen != generation->end()) {
      return seen->second == fingerprint ? Sight::same : Sight::other;
    }
  }
  if (young_.size() >= generation_keys_max) old_ = std::exchange(young_, {});
  young_.emplace(key, fingerprint);
  return Sight::first;
}

}  // namespace semel::telemetry
