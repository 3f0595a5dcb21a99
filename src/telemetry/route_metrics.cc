// Names and help texts are an interface, as in metrics.cc.
#include "telemetry/route_metrics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "telemetry/exposition.h"
#include <semel/problem.h>

namespace semel::telemetry {
namespace {

constexpr std::array<std::string_view, endings> ending_names{"passed",   "unkeyed",    "ran",     "released",
                                                             "unknown",  "replayed",   "refused", "malformed",
                                                             "observed", "superseded", "accepted"};

}  // namespace

std::string_view name(Ending ending) {
  return ending_names.at(static_cast<std::size_t>(ending));
}

RouteMetrics& RouteTable::route(std::string_view label) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(routes_, label, &RouteMetrics::label);
  return found != routes_.end() ? *found : routes_.emplace_back(std::string(label));
}

std::uint64_t RouteTable::refused(ProblemType problem) const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t total = 0;
  for (const RouteMetrics& route : routes_) {
    total += route.by_problem.at(static_cast<std::size_t>(problem)).load(std::memory_order_relaxed);
  }
  return total;
}

std::array<std::uint64_t, endings> RouteTable::ended() const {
  const std::scoped_lock lock(mutex_);
  std::array<std::uint64_t, endings> totals{};
  for (const RouteMetrics& route : routes_) {
    for (std::size_t i = 0; i < endings; ++i) totals.at(i) += route.by_ending.at(i).load(std::memory_order_relaxed);
  }
  return totals;
}

void RouteTable::render(std::string& out) const {
  const std::scoped_lock lock(mutex_);
  const auto line = std::back_inserter(out);
  heading(out, "semel_requests_total", "counter", "Requests by route and how they ended.");
  for (const RouteMetrics& route : routes_) {
    for (std::size_t i = 0; i < endings; ++i) {
      fmt::format_to(line, "semel_requests_total{{route=\"{}\",outcome=\"{}\"}} {}\n", label_text(route.label),
                     ending_names.at(i), route.by_ending.at(i).load(std::memory_order_relaxed));
    }
  }
  heading(out, "semel_refused_total", "counter", "Refused requests by route and problem.");
  for (const RouteMetrics& route : routes_) {
    for (std::size_t i = 0; i < problem_types; ++i) {
      fmt::format_to(line, "semel_refused_total{{route=\"{}\",problem=\"{}\"}} {}\n", label_text(route.label),
                     Problem::of(static_cast<ProblemType>(i)).slug(),
                     route.by_problem.at(i).load(std::memory_order_relaxed));
    }
  }
  heading(out, "semel_observed_total", "counter", "In observe mode: what would have happened.");
  for (const RouteMetrics& route : routes_) {
    fmt::format_to(line, "semel_observed_total{{route=\"{0}\",would=\"replay\"}} {1}\n", label_text(route.label),
                   route.would_replay.load(std::memory_order_relaxed));
    fmt::format_to(line, "semel_observed_total{{route=\"{0}\",would=\"refuse\"}} {1}\n", label_text(route.label),
                   route.would_refuse.load(std::memory_order_relaxed));
  }
  heading(out, "semel_bad_outcome_fields_total", "counter", "Semel-Outcome fields without a known value.");
  for (const RouteMetrics& route : routes_) {
    fmt::format_to(line, "semel_bad_outcome_fields_total{{route=\"{}\"}} {}\n", label_text(route.label),
                   route.bad_outcome_fields.load(std::memory_order_relaxed));
  }
  heading(out, "semel_route_upstream_seconds", "histogram",
          "From sending a guarded request to the end of its answer, by route.");
  for (const RouteMetrics& route : routes_) {
    if (!route.label.empty()) {
      route.upstream_seconds.render(out, "semel_route_upstream_seconds", "route=\"" + label_text(route.label) + "\"");
    }
  }
}

}  // namespace semel::telemetry
