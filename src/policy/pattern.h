// Path patterns of routes and webhooks.
//
//   /v1/payments        that path and no other
//   /v1/*/refunds       `*` as a whole segment: any one segment that is not empty
//   /v1/*               a final `/*`: everything below; the rest may be empty, the slash may not be missing
//
// Paths are compared byte by byte as they were received: nothing is decoded, and case, doubled slashes and trailing
// slashes count.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reading/fault.h"

namespace semel::policy {

struct Pattern {
  std::string text;
  std::vector<std::string> segments;  // between the slashes; "*" stands for any one
  bool open = false;                  // everything below

  [[nodiscard]] bool matches(std::string_view path) const;

  // Names one path only.
  [[nodiscard]] bool literal() const;

  // Whether every path that `other` matches is matched by this one.
  [[nodiscard]] bool covers(const Pattern& other) const;
};

reading::Parsed<Pattern> parse_pattern(std::string_view text);

// Of text that is known to be right: a default in the code.
Pattern pattern(std::string_view text);

// Why a path must not be guarded: programs disagree on what it names, so two of them could see two different
// operations. `..` in any spelling, an encoded slash, a backslash or NUL in any spelling. Null if the path is plain.
std::optional<std::string_view> doubtful_path(std::string_view path);

}  // namespace semel::policy
