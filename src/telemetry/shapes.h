// The shapes of the requests that ran of late, by their fingerprints: what differed can then be said of a request whose
// key belongs to another one.
//
// A table of fixed size without a lock: a slot is two words, of which one covers the other, so a slot that two threads
// write at the same time belongs to nobody. A newer request takes the place of an older one. What is not found is not
// known; what is found is right, because a fingerprint has one shape.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/shape.h"
#include <semel/fingerprint.h>

namespace semel::telemetry {

// Shared by all threads.
class Shapes {
 public:
  void put(const Fingerprint& fingerprint, core::Shape shape);
  [[nodiscard]] core::Shape find(const Fingerprint& fingerprint) const;  // its bits are 0 if it is not known

 private:
  static constexpr std::size_t slots = 65'536;  // 1 MiB

  struct Slot {
    std::atomic<std::uint64_t> shape{0};
    std::atomic<std::uint64_t> covered{0};  // the tag of the fingerprint XOR the shape
  };
  std::unique_ptr<std::array<Slot, slots>> table_ = std::make_unique<std::array<Slot, slots>>();
};

}  // namespace semel::telemetry
