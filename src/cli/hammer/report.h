// A hammer run in words and figures: a table and a verdict for people, JSON for machines. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/hammer/latencies.h"
#include "cli/hammer/options.h"
#include "cli/hammer/verdict.h"

namespace semel::cli {

enum class RunEnd : std::uint8_t { complete, out_of_patience, out_of_time, interrupted };

struct HammerReport {
  const HammerOptions& options;
  const Tally& tally;
  Latencies::Summary latency;
  std::optional<Effects> effects;
  std::vector<Broken> broken;
  std::chrono::nanoseconds took{0};
  RunEnd end = RunEnd::complete;
  std::function<std::string(std::size_t)> key_text;

  [[nodiscard]] bool held() const { return broken.empty() && end == RunEnd::complete; }
};

std::string report_text(const HammerReport& report);
std::string report_json(const HammerReport& report);

// One line, written again and again during the run.
std::string progress_text(const Tally& tally);

}  // namespace semel::cli
