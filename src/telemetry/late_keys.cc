#include "telemetry/late_keys.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace semel::telemetry {
namespace {

constexpr int moves_max = 200;

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 33U;
  value *= 0xff51'afd7'ed55'8ccdULL;
  value ^= value >> 33U;
  value *= 0xc4ce'b9fe'1a85'ec53ULL;
  return value ^ (value >> 33U);
}

}  // namespace

std::uint16_t CuckooFilter::mark_of(std::uint64_t key) {
  const auto mark = static_cast<std::uint16_t>(mixed(key) >> 48U);
  return mark == 0 ? std::uint16_t{1} : mark;
}

std::size_t CuckooFilter::first_of(std::uint64_t key) const {
  return static_cast<std::size_t>(mixed(key)) & (buckets_ - 1);
}

std::size_t CuckooFilter::other_of(std::size_t bucket, std::uint16_t mark) const {
  return (bucket ^ static_cast<std::size_t>(mixed(mark))) & (buckets_ - 1);
}

bool CuckooFilter::has(std::uint64_t key) const {
  const std::uint16_t mark = mark_of(key);
  const std::size_t first = first_of(key);
  const auto holds = [&](std::size_t bucket) {
    return std::ranges::find(slots_[bucket], mark) != slots_[bucket].end();
  };
  return holds(first) || holds(other_of(first, mark));
}

bool CuckooFilter::put(std::size_t bucket, std::uint16_t mark) {
  const auto free = std::ranges::find(slots_[bucket], std::uint16_t{0});
  if (free == slots_[bucket].end()) return false;
  *free = mark;
  ++size_;
  return true;
}

bool CuckooFilter::add(std::uint64_t key) {
  std::uint16_t mark = mark_of(key);
  std::size_t bucket = first_of(key);
  if (put(bucket, mark) || put(other_of(bucket, mark), mark)) return true;
  for (int moves = 0; moves < moves_max; ++moves) {
    std::swap(mark, slots_[bucket][++turn_ % 4]);
    bucket = other_of(bucket, mark);
    if (put(bucket, mark)) return true;
  }
  return false;  // one of the others is lost, which is no worse
}

bool LateKeys::seen_before(std::uint64_t key) {
  if (young_.has(key)) return true;
  const bool before = old_.has(key);
  if (young_.size() >= keys_max || !young_.add(key)) {
    old_ = std::exchange(young_, CuckooFilter(buckets));
    young_.add(key);
  }
  return before;
}

}  // namespace semel::telemetry
