// How long many things took, in little memory: counts in four steps per doubling, from 8 µs to over two minutes. A
// quantile is off by at most an eighth. Sketches of several threads, minutes and nodes add up.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace semel::telemetry {

class LatencySketch {
 public:
  static constexpr std::size_t buckets = 96;

  void add(std::chrono::nanoseconds took) { ++counts_[bucket_of(took)]; }
  void add_to(std::size_t bucket, std::uint64_t count) { counts_.at(bucket) += count; }
  void merge(const LatencySketch& other);
  void clear() { counts_.fill(0); }

  [[nodiscard]] std::uint64_t count() const;
  // The time within which this share of them was done. None if there are none.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> quantile(double share) const;
  [[nodiscard]] const std::array<std::uint64_t, buckets>& counts() const { return counts_; }

  static std::size_t bucket_of(std::chrono::nanoseconds took);
  // The middle of a bucket.
  static std::chrono::nanoseconds middle_of(std::size_t bucket);

 private:
  std::array<std::uint64_t, buckets> counts_{};
};

}  // namespace semel::telemetry
