// Tallies: how many requests of a minute, an hour or a day ended in which way, by route or by scope.
//
// A tally is a value. It adds up: of threads to a gateway, of gateways to a cluster, of minutes to an hour.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/latency_sketch.h"
#include "telemetry/route_metrics.h"
#include <semel/problem.h>

namespace semel::telemetry {

// How a request ended, as tallies call it. The numbers are in every store.
enum class TallyOutcome : std::uint8_t {
  passed,
  unkeyed,
  ran,
  released,
  unknown,
  replayed,
  in_flight,
  outcome_unknown,  // a repeat of a request whose outcome is not known
  key_reused,
  refused,  // for another reason
  malformed,
  would_run,  // mode = "observe"
  would_replay,
  would_refuse,
  superseded,
  observed,  // mode = "observe", and it has no key
  accepted,  // into the inbox: it is delivered later
};
inline constexpr std::size_t tally_outcomes = 17;
std::string_view name(TallyOutcome outcome);
// `would` is what enforcing would have done, in mode = "observe": "run", "replay", "pass", or the name of a problem.
TallyOutcome tally_outcome(Ending ending, std::optional<ProblemType> problem, std::string_view would);

using TallyCounts = std::array<std::uint64_t, tally_outcomes>;

// All of them; those with a key; those whose key had been seen before with the same request.
std::uint64_t requests_in(const TallyCounts& counts);
std::uint64_t keyed_in(const TallyCounts& counts);
std::uint64_t duplicates_in(const TallyCounts& counts);

struct TallySum {
  TallyCounts counts{};
  std::vector<std::pair<TallyOutcome, LatencySketch>> times;  // of the outcomes that have one, in no order

  LatencySketch& times_of(TallyOutcome outcome);
  void merge(const TallySum& other);
  // Of all outcomes.
  [[nodiscard]] LatencySketch all_times() const;
};

inline constexpr std::string_view other_names = "(other)";  // what does not fit into a table any more

// Tallies by the name of a route, or by the short hash of a scope.
class TallyTable {
 public:
  static constexpr std::size_t names_max = 4'096;

  TallySum& of(std::string_view name);
  void merge(const TallyTable& other);
  [[nodiscard]] const std::map<std::string, TallySum, std::less<>>& rows() const { return rows_; }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // Leaves the `count` names with the most requests.
  void keep_heaviest(std::size_t count);

  // As bytes, without the times if there would be more than `bytes_max`.
  [[nodiscard]] std::string encode(std::size_t bytes_max) const;
  // None if they are not such bytes.
  static std::optional<TallyTable> decode(std::string_view bytes);

 private:
  std::map<std::string, TallySum, std::less<>> rows_;
};

}  // namespace semel::telemetry
