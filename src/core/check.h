// Broken invariants stop the process: going on would be guessing with somebody's money. Kept in release builds.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace semel::core {

inline void check(bool holds, const char* invariant, std::source_location where = std::source_location::current()) {
  if (holds) [[likely]]
    return;
  std::fprintf(stderr, "semel: broken invariant: %s (%s:%u)\n", invariant, where.file_name(), where.line());
  std::abort();
}

}  // namespace semel::core
