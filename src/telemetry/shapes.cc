#include "telemetry/shapes.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/shape.h"
#include <semel/fingerprint.h>

namespace semel::telemetry {
namespace {

// A fingerprint is a cryptographic hash: any bytes of it will do.
std::uint64_t tag_of(const Fingerprint& fingerprint) {
  std::uint64_t tag = 0;
  std::memcpy(&tag, fingerprint.digest.data(), sizeof(tag));
  return tag;
}

std::size_t place_of(const Fingerprint& fingerprint) {
  std::uint16_t place = 0;
  std::memcpy(&place, fingerprint.digest.data() + sizeof(std::uint64_t), sizeof(place));
  return place;
}

}  // namespace

void Shapes::put(const Fingerprint& fingerprint, core::Shape shape) {
  if (shape.bits == 0) return;
  Slot& slot = (*table_)[place_of(fingerprint)];
  slot.shape.store(shape.bits, std::memory_order_relaxed);
  slot.covered.store(tag_of(fingerprint) ^ shape.bits, std::memory_order_relaxed);
}

core::Shape Shapes::find(const Fingerprint& fingerprint) const {
  const Slot& slot = (*table_)[place_of(fingerprint)];
  const std::uint64_t shape = slot.shape.load(std::memory_order_relaxed);
  const std::uint64_t covered = slot.covered.load(std::memory_order_relaxed);
  return {.bits = (covered ^ shape) == tag_of(fingerprint) ? shape : 0};
}

}  // namespace semel::telemetry
