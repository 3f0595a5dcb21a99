// Which paths a server might take for one another.
//
// Semel compares paths byte by byte. Many servers do not: they decode, ignore case, drop parameters and endings, start
// at a script's name, or hand everything below a path to one handler. Here is said which of that would make a path
// another one, so that no rule can be gone round by a spelling. Pure. The work is linear in the length of the path.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/pattern.h"

namespace semel::policy {

// What a server overlooks when it takes one path for another.
enum class Overlooked : std::uint8_t {
  writing,  // case, encodings, slashes, dot segments, parameters (`;a=1`), white space and dots at a segment's end, NUL
  ending,   // `.json` behind it, or that the pattern has and the path has not
  script,   // `/index.php` in front of it or behind it
  rest,     // further segments
};
inline constexpr Overlooked all_overlooked[] = {Overlooked::writing, Overlooked::ending, Overlooked::script,
                                                Overlooked::rest};

// As the middle of a sentence: "they ignore ...".
std::string_view to_text(Overlooked what);

// The same pattern as the most lenient server reads it: what Spelling is compared with.
Pattern plainest(const Pattern& pattern);

// Whether the most lenient server reads the path as it is written, as nearly all are: then nothing is copied.
bool is_plainest(std::string_view path);

// A path as the most lenient server reads it. `path` must outlive it.
class Spelling {
 public:
  explicit Spelling(std::string_view path);
  Spelling(const Spelling&) = delete;
  Spelling& operator=(const Spelling&) = delete;

  // Whether a server that overlooks this takes the path for one that `plain` matches.
  [[nodiscard]] bool reads_as(const Pattern& plain, Overlooked what) const;

  // Between the slashes, when all dot segments have been followed.
  [[nodiscard]] std::span<const std::string_view> segments() const { return whole_.segments; }

 private:
  struct Steps {
    std::vector<std::string_view> segments;
    std::vector<std::string_view> unfollowed;  // with `..` still in it; empty if there is none
  };
  static Steps steps_of(std::string_view text);
  static bool reads_as(const Steps& steps, const Pattern& plain, Overlooked what);

  std::string text_;            // decoded; empty if the path is plain
  Steps whole_;                 // NULs dropped
  std::optional<Steps> ended_;  // only what is before the first NUL, `?` or `#`; null if there is none
};

}  // namespace semel::policy
