// tally_codec.cc has the bytes.
#include "telemetry/tally.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/latency_sketch.h"
#include "telemetry/route_metrics.h"
#include <semel/problem.h>

namespace semel::telemetry {
namespace {

constexpr std::array<std::string_view, tally_outcomes> outcome_names{
    "passed",       "unkeyed",         "ran",        "released", "unknown",   "replayed",
    "in-flight",    "outcome-unknown", "key-reused", "refused",  "malformed", "would-run",
    "would-replay", "would-refuse",    "superseded", "observed", "accepted"};

std::uint64_t sum_of(const TallyCounts& counts, std::initializer_list<TallyOutcome> outcomes) {
  std::uint64_t sum = 0;
  for (const TallyOutcome outcome : outcomes) sum += counts.at(static_cast<std::size_t>(outcome));
  return sum;
}

}  // namespace

std::string_view name(TallyOutcome outcome) {
  return outcome_names.at(static_cast<std::size_t>(outcome));
}

TallyOutcome tally_outcome(Ending ending, std::optional<ProblemType> problem, std::string_view would) {
  switch (ending) {
    case Ending::passed:
      return TallyOutcome::passed;
    case Ending::unkeyed:
      return TallyOutcome::unkeyed;
    case Ending::ran:
      return TallyOutcome::ran;
    case Ending::accepted:
      return TallyOutcome::accepted;
    case Ending::released:
      return TallyOutcome::released;
    case Ending::unknown:
      return TallyOutcome::unknown;
    case Ending::replayed:
      return TallyOutcome::replayed;
    case Ending::malformed:
      return TallyOutcome::malformed;
    case Ending::superseded:
      return TallyOutcome::superseded;
    case Ending::observed:
      if (would.empty() || would == "pass") return TallyOutcome::observed;
      if (would == "run") return TallyOutcome::would_run;
      return would == "replay" ? TallyOutcome::would_replay : TallyOutcome::would_refuse;
    case Ending::refused:
      break;
  }
  if (problem == ProblemType::in_flight) return TallyOutcome::in_flight;
  if (problem == ProblemType::outcome_unknown) return TallyOutcome::outcome_unknown;
  return problem == ProblemType::key_reused ? TallyOutcome::key_reused : TallyOutcome::refused;
}

std::uint64_t requests_in(const TallyCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t duplicates_in(const TallyCounts& counts) {
  return sum_of(counts, {TallyOutcome::replayed, TallyOutcome::in_flight, TallyOutcome::outcome_unknown,
                         TallyOutcome::would_replay});
}

std::uint64_t keyed_in(const TallyCounts& counts) {
  return duplicates_in(counts) +
         sum_of(counts, {TallyOutcome::ran, TallyOutcome::released, TallyOutcome::unknown, TallyOutcome::key_reused,
                         TallyOutcome::would_run, TallyOutcome::would_refuse, TallyOutcome::superseded,
                         TallyOutcome::accepted});
}

LatencySketch& TallySum::times_of(TallyOutcome outcome) {
  for (auto& [of, sketch] : times) {
    if (of == outcome) return sketch;
  }
  return times.emplace_back(outcome, LatencySketch()).second;
}

void TallySum::merge(const TallySum& other) {
  for (std::size_t i = 0; i < tally_outcomes; ++i) counts[i] += other.counts[i];
  for (const auto& [outcome, sketch] : other.times) times_of(outcome).merge(sketch);
}

LatencySketch TallySum::all_times() const {
  LatencySketch all;
  for (const auto& [outcome, sketch] : times) all.merge(sketch);
  return all;
}

TallySum& TallyTable::of(std::string_view name) {
  const auto found = rows_.find(name);
  if (found != rows_.end()) return found->second;
  return rows_[std::string(rows_.size() < names_max ? name : other_names)];
}

void TallyTable::merge(const TallyTable& other) {
  for (const auto& [name, tally] : other.rows_) of(name).merge(tally);
}

void TallyTable::keep_heaviest(std::size_t count) {
  if (rows_.size() <= count) return;
  std::vector<std::pair<std::uint64_t, std::string>> by_weight;
  by_weight.reserve(rows_.size());
  for (const auto& [name, tally] : rows_) by_weight.emplace_back(requests_in(tally.counts), name);
  std::ranges::sort(by_weight);
  for (std::size_t i = 0; i + count < by_weight.size(); ++i) rows_.erase(by_weight[i].second);
}

}  // namespace semel::telemetry
