// How far the sweeps of this process have come in one database, by its clock: where the next one begins
// (semel.sweep_2).
//
// A sweep does not see what is committed after its expiry. So everything is looked at again from time to time.
#pragma once

#include <cstdint>
#include <limits>

namespace semel::store::postgres {

// Microseconds, as PostgreSQL counts them.
struct SweepProgress {
  static constexpr std::int64_t beginning = std::numeric_limits<std::int64_t>::min();  // its -infinity
  static constexpr std::int64_t whole_every = 600'000'000;

  std::int64_t keys_from = beginning;
  std::int64_t objects_from = beginning;
  std::int64_t whole_at = beginning;  // when everything was last begun to be looked at

  // A sweep has ended at `at`, and has come so far.
  void advance(std::int64_t keys_upto, std::int64_t objects_upto, std::int64_t at) {
    if (whole_at == beginning) whole_at = at;
    const bool whole = at - whole_at >= whole_every;
    if (whole) whole_at = at;
    keys_from = whole ? beginning : keys_upto;
    objects_from = whole ? beginning : objects_upto;
  }
};

}  // namespace semel::store::postgres
