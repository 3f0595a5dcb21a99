// What the environment says to a simulation.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace semel::sim {

inline std::optional<std::uint64_t> number_from(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::stoull(text);
}

}  // namespace semel::sim
