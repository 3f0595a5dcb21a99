// Broken invariants stop the process: going on would be guessing with somebody's money. Kept in release builds.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <source_location>

namespace semel::core {

[[noreturn]] inline void broken(const char* invariant, const std::source_location& where) {
  std::fprintf(stderr, "semel: broken invariant: %s (%s:%u)\n", invariant, where.file_name(), where.line());
  std::abort();
}

inline void check(bool holds, const char* invariant, std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    broken(invariant, where);
}

// The value of an optional that must have one.
template <class T>
T& present(std::optional<T>& value, const char* invariant,
           std::source_location where = std::source_location::current()) {
  if (!value) [[unlikely]]
    broken(invariant, where);
  return *value;
}
template <class T>
const T& present(const std::optional<T>& value, const char* invariant,
                 std::source_location where = std::source_location::current()) {
  if (!value) [[unlikely]]
    broken(invariant, where);
  return *value;
}

}  // namespace semel::core
