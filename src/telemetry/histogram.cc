#include "telemetry/histogram.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace semel::telemetry {

void Histogram::add(double value) {
  const auto at = static_cast<std::size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin());
  counts_.at(at).fetch_add(1, std::memory_order_relaxed);
  sum_millionths_.fetch_add(static_cast<std::uint64_t>(value * 1e6), std::memory_order_relaxed);
}

Histogram::Counts Histogram::counts() const {
  Counts copy{};
  for (std::size_t i = 0; i < copy.size(); ++i) copy.at(i) = counts_.at(i).load(std::memory_order_relaxed);
  return copy;
}

void Histogram::render(std::string& out, std::string_view name, std::string_view labels) const {
  const auto line = std::back_inserter(out);
  const std::string_view comma = labels.empty() ? "" : ",";
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    total += counts_.at(i).load(std::memory_order_relaxed);
    const std::string bound = i < bounds_.size() ? fmt::format("{}", bounds_.at(i)) : "+Inf";
    fmt::format_to(line, "{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma, bound, total);
  }
  const double sum = static_cast<double>(sum_millionths_.load(std::memory_order_relaxed)) / 1e6;
  const std::string all = labels.empty() ? std::string() : fmt::format("{{{}}}", labels);
  fmt::format_to(line, "{0}_sum{1} {2}\n{0}_count{1} {3}\n", name, all, sum, total);
}

}  // namespace semel::telemetry
