// Something to tell the author of a configuration file, and the place it is about.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace semel::reading {

// Lines and columns count from 1; a column is a character, not a byte.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  friend auto operator<=>(const Position&, const Position&) = default;
};

enum class Severity : std::uint8_t { error, warning };

struct Issue {
  Severity severity = Severity::error;
  std::string file;
  Position at;
  std::string message;
  std::string suggestion;  // may be empty

  friend bool operator==(const Issue&, const Issue&) = default;
};

// `semel.toml:12:9: error: message (did you mean "suggestion"?)`, in the form that editors jump to.
std::string to_text(const Issue& issue);

}  // namespace semel::reading
