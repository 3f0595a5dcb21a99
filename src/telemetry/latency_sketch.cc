#include "telemetry/latency_sketch.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

namespace semel::telemetry {
namespace {

constexpr unsigned first_bit = 13;  // 8,192 ns: what is faster is in the first bucket
constexpr unsigned steps_bits = 2;

}  // namespace

std::size_t LatencySketch::bucket_of(std::chrono::nanoseconds took) {
  const auto nanos = static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0));
  if (nanos < (std::uint64_t{1} << first_bit)) return 0;
  const auto top = static_cast<unsigned>(std::bit_width(nanos)) - 1;
  const std::uint64_t step = (nanos >> (top - steps_bits)) & 3U;
  return std::min<std::size_t>(((top - first_bit) << steps_bits) + step, buckets - 1);
}

std::chrono::nanoseconds LatencySketch::middle_of(std::size_t bucket) {
  const unsigned top = first_bit + static_cast<unsigned>(bucket >> steps_bits);
  const std::uint64_t width = std::uint64_t{1} << (top - steps_bits);
  const std::uint64_t begin = (std::uint64_t{1} << top) + ((bucket & 3U) * width);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(begin + (width / 2)));
}

void LatencySketch::merge(const LatencySketch& other) {
  for (std::size_t i = 0; i < buckets; ++i) counts_[i] += other.counts_[i];
}

std::uint64_t LatencySketch::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::optional<std::chrono::nanoseconds> LatencySketch::quantile(double share) const {
  const std::uint64_t all = count();
  if (all == 0) return std::nullopt;
  const auto wanted =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(all))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets; ++i) {
    seen += counts_[i];
    if (seen >= wanted) return middle_of(i);
  }
  return middle_of(buckets - 1);
}

}  // namespace semel::telemetry
