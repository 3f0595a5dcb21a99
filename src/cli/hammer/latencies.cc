#include "cli/hammer/latencies.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace semel::cli {

void Latencies::add(std::chrono::nanoseconds time) {
  const std::int64_t micros = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  micros_.push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>(micros, 0, most)));
}

Latencies::Summary Latencies::summary() const {
  if (micros_.empty()) return {};
  std::vector<std::uint32_t> sorted = micros_;
  std::ranges::sort(sorted);
  const auto at = [&](std::size_t percent) {
    const std::size_t rank = (sorted.size() * percent + 99) / 100;
    return static_cast<double>(sorted[std::max<std::size_t>(rank, 1) - 1]) / 1e3;
  };
  return {.p50 = at(50), .p90 = at(90), .p99 = at(99), .max = at(100)};
}

}  // namespace semel::cli
