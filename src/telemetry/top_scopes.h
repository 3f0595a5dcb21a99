// The scopes with the most requests, by Space-Saving (Metwally, Agrawal, El Abbadi 2005), in fixed memory.
//
// As long as there are no more scopes than places, every count is exact. After that a new scope takes the place of the
// one with the lowest weight, and inherits that weight: so a heavy scope is never left out, and what is counted of it
// is what came since it got its place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "telemetry/tally.h"

namespace semel::telemetry {

class TopScopes {
 public:
  static constexpr std::size_t places = 1'000;

  struct Entry {
    std::uint64_t scope = 0;   // the first eight bytes of its digest
    std::uint64_t weight = 0;  // at least what was counted
    TallyCounts counts{};
    std::uint16_t next = 0;  // with the same hash; 0: none, else the position and one
  };

  void add(std::uint64_t scope, TallyOutcome outcome) {
    place_of(scope, 1).counts[static_cast<std::size_t>(outcome)]++;
  }
  void merge(const TopScopes& other);
  void clear();

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  static constexpr std::size_t heads = 2'048;
  static std::size_t head_of(std::uint64_t scope) { return static_cast<std::size_t>(scope % heads); }

  Entry& place_of(std::uint64_t scope, std::uint64_t weight);
  std::size_t take_lowest();

  std::vector<Entry> entries_;
  std::array<std::uint16_t, heads> heads_{};
  // Weights only grow: what has the lowest is looked for from where the last one was found.
  std::uint64_t lowest_ = 0;
  std::size_t hand_ = 0;
};

}  // namespace semel::telemetry
