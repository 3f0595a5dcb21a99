// How long answers took. Every value is kept, so percentiles are exact.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace semel::cli {

class Latencies {
 public:
  void add(std::chrono::nanoseconds time);
  [[nodiscard]] std::size_t count() const { return micros_.size(); }

  // In milliseconds, by nearest rank: the smallest value that at least that share of all values does not exceed.
  struct Summary {
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
    double max = 0;
  };
  [[nodiscard]] Summary summary() const;

 private:
  std::vector<std::uint32_t> micros_;
};

}  // namespace semel::cli
