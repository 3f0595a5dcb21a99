// Counters and histograms. All are atomics that are only added to.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace semel::telemetry {

// Upper bounds of buckets; the last bucket has none.
inline constexpr std::size_t bounds_count = 14;
using Bounds = std::array<double, bounds_count>;
inline constexpr Bounds second_bounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                      0.025,  0.05,    0.1,    0.25,  1,      5,     30};
inline constexpr Bounds count_bounds{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};

class Histogram {
 public:
  explicit Histogram(const Bounds& bounds = second_bounds) : bounds_(bounds) {}
  void add(double value);
  // How many values are in each bucket.
  using Counts = std::array<std::uint64_t, bounds_count + 1>;
  [[nodiscard]] Counts counts() const;
  void render(std::string& out, std::string_view name, std::string_view labels) const;

 private:
  const Bounds& bounds_;
  std::array<std::atomic<std::uint64_t>, bounds_count + 1> counts_{};
  std::atomic<std::uint64_t> sum_millionths_{0};
};

template <class Counters, class What>
void count(Counters& counters, What what) {
  counters.at(static_cast<std::size_t>(what)).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace semel::telemetry
