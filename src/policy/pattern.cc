// Matching goes segment by segment over the bytes as received; nothing is decoded or merged.
#include "policy/pattern.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ascii.h"
#include "core/check.h"
#include "reading/fault.h"

namespace semel::policy {
namespace {

constexpr std::size_t pattern_bytes_max = 1024;

bool fits(std::string_view pattern_segment, std::string_view segment) {
  return pattern_segment == "*" ? !segment.empty() : pattern_segment == segment;
}

bool is_dot(std::string_view& segment) {
  if (segment.starts_with('.')) {
    segment.remove_prefix(1);
    return true;
  }
  if (segment.size() >= 3 && core::equal_ignoring_case(segment.substr(0, 3), "%2e")) {
    segment.remove_prefix(3);
    return true;
  }
  return false;
}

bool is_dot_dot(std::string_view segment) {
  return is_dot(segment) && is_dot(segment) && segment.empty();
}

// Takes the first segment of `rest`, which begins with a slash.
std::string_view take_segment(std::string_view& rest) {
  rest.remove_prefix(1);
  const std::string_view segment = rest.substr(0, rest.find('/'));
  rest.remove_prefix(segment.size());
  return segment;
}

// Other programs write `:id`, `{id}` or `<id>` for what is `*` here. Taken as it stands, such a path would guard
// nothing.
bool is_placeholder(std::string_view segment) {
  return segment.starts_with(':') || segment.find_first_of("{}<>[]") != std::string_view::npos;
}

bool is_regular_expression(std::string_view text) {
  constexpr std::array<std::string_view, 7> marks{"(?", ".*", ".+", "\\d", "\\w", "\\S", "\\/"};
  return text.find_first_of("^|") != std::string_view::npos || text.ends_with('$') ||
         std::ranges::any_of(marks, [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; });
}

// The same path with `*` for each segment that means any.
std::string with_stars(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view segment = take_segment(text);
    out += '/';
    out += is_placeholder(segment) ? "*" : segment;
  }
  return out;
}

// Another program's way to say "any".
std::optional<reading::Fault> other_dialect(std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    const auto offset = static_cast<std::size_t>(rest.data() - text.data()) + 1;
    if (!is_placeholder(take_segment(rest))) continue;
    return reading::Fault{
        .message = "a segment that may be anything is written `*`", .suggestion = with_stars(text), .offset = offset};
  }
  return std::nullopt;
}

}  // namespace

bool Pattern::matches(std::string_view path) const {
  if (!path.starts_with('/')) return false;
  for (const std::string& segment : segments) {
    if (path.empty() || !fits(segment, take_segment(path))) return false;
  }
  return open ? !path.empty() : path.empty();
}

bool Pattern::covers(const Pattern& other) const {
  const std::size_t own = segments.size();
  const std::size_t others = other.segments.size();
  if (open ? (others < own || (others == own && !other.open)) : (others != own || other.open)) return false;
  for (std::size_t i = 0; i < own; ++i) {
    const bool any = segments[i] == "*";
    if (any ? other.segments[i].empty() : segments[i] != other.segments[i]) return false;
  }
  return true;
}

bool Pattern::literal() const {
  return !open && std::ranges::find(segments, "*") == segments.end();
}

reading::Parsed<Pattern> parse_pattern(std::string_view text) {
  if (text.size() > pattern_bytes_max) return reading::fault("a path is at most 1024 bytes long");
  if (is_regular_expression(text)) {
    return reading::fault(
        "a path is no regular expression; `*` stands for one segment, and `/*` at the end for all that follows");
  }
  if (!text.starts_with('/')) return reading::fault("a path begins with a slash", fmt::format("/{}", text));
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] <= ' ' || text[i] > '~')
      return reading::fault("a path holds only visible ASCII; encode the rest (%XX)", {}, i);
    if (text[i] == '?' || text[i] == '#')
      return reading::fault("a route is found by path only; leave out what follows", {}, i);
  }
  if (auto foreign = other_dialect(text)) return std::unexpected(*std::move(foreign));
  if (const auto doubt = doubtful_path(text))
    return reading::fault(fmt::format("a path with {} is never guarded", *doubt));
  Pattern pattern{.text = std::string(text), .segments = {}, .open = text.ends_with("/*")};
  std::string_view rest = text;
  if (pattern.open) rest.remove_suffix(2);
  while (!rest.empty()) {
    const auto offset = static_cast<std::size_t>(rest.data() - text.data()) + 1;
    const std::string_view segment = take_segment(rest);
    if (segment.size() > 1 && segment.find('*') != std::string_view::npos) {
      return reading::fault("`*` stands for a whole segment, between two slashes or at the end",
                            text.ends_with("/**") ? std::string(text.substr(0, text.size() - 1)) : std::string(),
                            offset + segment.find('*'));
    }
    pattern.segments.emplace_back(segment);
  }
  return pattern;
}

Pattern pattern(std::string_view text) {
  auto parsed = parse_pattern(text);
  core::check(parsed.has_value(), "a path in the code is right");
  return std::move(*parsed);
}

std::optional<std::string_view> doubtful_path(std::string_view path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '\\') return "a backslash";
    if (path[i] == '\0') return "a NUL";
    if (path[i] != '%' || i + 2 >= path.size()) continue;
    const std::string_view digits = path.substr(i + 1, 2);
    if (core::equal_ignoring_case(digits, "2f")) return "an encoded slash";
    if (core::equal_ignoring_case(digits, "5c")) return "an encoded backslash";
    if (digits == "00") return "an encoded NUL";
  }
  for (std::string_view rest = path; rest.starts_with('/');) {
    if (is_dot_dot(take_segment(rest))) return "a `..` segment";
  }
  return std::nullopt;
}

}  // namespace semel::policy
