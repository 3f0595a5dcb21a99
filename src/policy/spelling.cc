// Everything is decoded at once, as far as it goes; then segments are compared in the few ways that servers know.
#include "policy/spelling.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ascii.h"
#include "policy/pattern.h"

namespace semel::policy {
namespace {

using Segments = std::span<const std::string_view>;

// Files behind whose name a server goes on with the path.
constexpr std::array<std::string_view, 16> script_endings{"php",  "php5", "php7", "php8", "phtml", "cgi",
                                                          "fcgi", "pl",   "py",   "rb",   "wsgi",  "asp",
                                                          "aspx", "ashx", "jsp",  "cfm"};

// Ways to write one character in more bytes than it needs, and letters that some take for others when they ignore case.
struct Disguise {
  std::string_view bytes;
  char meant;
};
constexpr std::array disguises{
    Disguise{"\xc5\xbf", 's'},     Disguise{"\xe2\x84\xaa", 'k'}, Disguise{"\xc4\xb0", 'i'},
    Disguise{"\xc4\xb1", 'i'},     Disguise{"\xc2\x85", ' '},     Disguise{"\xc2\xa0", ' '},
    Disguise{"\xe1\x9a\x80", ' '}, Disguise{"\xe2\x80\xa8", ' '}, Disguise{"\xe2\x80\xa9", ' '},
    Disguise{"\xe2\x80\xaf", ' '}, Disguise{"\xe2\x81\x9f", ' '}, Disguise{"\xe3\x80\x80", ' '}};
constexpr std::string_view disguise_leads = "\xc0\xc1\xc2\xc4\xc5\xe0\xe1\xe2\xe3\xef\xf0\xf8\xfc";

// The letters of ASCII once more, as wide as those of Chinese.
constexpr unsigned fullwidth_first = 0xff01;
constexpr unsigned fullwidth_last = 0xff5e;

bool is_space(char c) {
  return c == ' ' || core::is_control(c);
}

unsigned byte_at(std::string_view text, std::size_t from_end) {
  return static_cast<unsigned char>(text[text.size() - from_end]);
}

bool is_continuation(unsigned byte) {
  return byte >= 0x80 && byte <= 0xbf;
}

// What the last `size` bytes of `out` mean, if they are one ASCII character in disguise.
struct HiddenCharacter {
  std::size_t size = 0;
  char meant = '\0';
};

HiddenCharacter encoded_at_end(std::string_view out) {
  const auto hex = [&](std::size_t digits) {
    return std::ranges::all_of(out.substr(out.size() - digits), core::is_hex_digit);
  };
  const auto value = [&](std::size_t from_end) { return core::hex_value(out[out.size() - from_end]); };
  if (out.size() >= 3 && byte_at(out, 3) == '%' && hex(2)) {
    return {.size = 3, .meant = static_cast<char>(value(2) << 4U | value(1))};
  }
  const bool wide = out.size() >= 6 && byte_at(out, 6) == '%' && core::to_lower(out[out.size() - 5]) == 'u' && hex(4);
  if (!wide) return {};
  const unsigned number = value(4) << 12U | value(3) << 8U | value(2) << 4U | value(1);
  if (number < 0x80) return {.size = 6, .meant = static_cast<char>(number)};
  if (number >= fullwidth_first && number <= fullwidth_last) {
    return {.size = 6, .meant = static_cast<char>(number - fullwidth_first + '!')};
  }
  return {};
}

// The first byte of a character of so many bytes, without the bits that belong to its number.
constexpr std::array<unsigned, 7> leads{0, 0, 0xc0, 0xe0, 0xf0, 0xf8, 0xfc};

// The number of a character of `size` bytes at the end, as one reads it who does not ask whether it is too long.
unsigned number_at_end(std::string_view out, std::size_t size) {
  unsigned number = byte_at(out, size) ^ leads.at(size);
  for (std::size_t i = size - 1; i > 0; --i) number = number << 6U | (byte_at(out, i) & 0x3fU);
  return number;
}

HiddenCharacter overlong_at_end(std::string_view out) {
  for (std::size_t size = 2; size < leads.size() && size <= out.size(); ++size) {
    if (!is_continuation(byte_at(out, size - 1))) return {};
    const unsigned first = byte_at(out, size);
    if (first < leads.at(size) || first > leads.at(size) + (0x3fU >> (size - 1))) continue;
    const unsigned number = number_at_end(out, size);
    if (number < 0x80) return {.size = size, .meant = static_cast<char>(number)};
    if (number >= fullwidth_first && number <= fullwidth_last) {
      return {.size = size, .meant = static_cast<char>(number - fullwidth_first + '!')};
    }
    const bool space = number >= 0x2000 && number <= 0x200b;
    if (space) return {.size = size, .meant = ' '};
    break;
  }
  for (const Disguise& one : disguises) {
    if (out.ends_with(one.bytes)) return {.size = one.bytes.size(), .meant = one.meant};
  }
  return {};
}

// `%2565` is `%65` for one program and `e` for another: nothing is left to decode, in one pass.
std::string decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    out.push_back(c);
    for (;;) {
      HiddenCharacter found = encoded_at_end(out);
      if (found.size == 0) found = overlong_at_end(out);
      if (found.size == 0) break;
      out.resize(out.size() - found.size);
      out.push_back(found.meant);
    }
  }
  return out;
}

std::string plain_text(std::string_view path) {
  std::string text = core::to_lower(decoded(path));
  std::ranges::replace(text, '\\', '/');
  return text;
}

// Without parameters, and without white space around it. Dots at its end go too, but not those of `..`.
std::string_view plain_segment(std::string_view segment) {
  segment = segment.substr(0, segment.find(';'));
  while (!segment.empty() && is_space(segment.front())) segment.remove_prefix(1);
  while (!segment.empty() && is_space(segment.back())) segment.remove_suffix(1);
  if (segment == "..") return segment;
  while (!segment.empty() && (is_space(segment.back()) || segment.back() == '.')) segment.remove_suffix(1);
  return segment;
}

bool is_script(std::string_view segment) {
  const std::size_t dot = segment.rfind('.');
  if (dot == std::string_view::npos) return false;
  return std::ranges::find(script_endings, segment.substr(dot + 1)) != script_endings.end();
}

// `(S(x))`: ASP.NET keeps a session in the path, and takes it away before it looks where the path leads.
bool is_session(std::string_view segment) {
  return segment.size() >= 5 && segment.front() == '(' && segment[2] == '(' && segment.ends_with("))");
}

bool fits(std::string_view pattern_segment, std::string_view segment) {
  return pattern_segment == "*" || pattern_segment == segment;
}

bool begins_with(Segments segments, const std::vector<std::string>& wanted) {
  if (segments.size() < wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!fits(wanted[i], segments[i])) return false;
  }
  return true;
}

// `/v1` is `/v1/` for many, which `/v1/*` matches.
bool matches(const Pattern& plain, Segments segments) {
  return begins_with(segments, plain.segments) && (plain.open || segments.size() == plain.segments.size());
}

bool is_ending(std::string_view text) {
  return text.size() >= 3 && text.size() <= 6 && text.front() == '.' &&
         std::ranges::all_of(text.substr(1), core::is_letter);
}

bool matches_without_ending(const Pattern& plain, Segments segments) {
  if (plain.open || plain.segments.empty() || segments.size() != plain.segments.size()) return false;
  const std::string_view wanted = plain.segments.back();
  const std::string_view last = segments.back();
  if (wanted == "*") return false;
  const bool longer = last.size() > wanted.size() && last.starts_with(wanted) && last[wanted.size()] == '.';
  const bool shorter = wanted.starts_with(last) && is_ending(wanted.substr(last.size()));
  if (!longer && !shorter) return false;
  return std::ranges::equal(std::span(plain.segments).first(plain.segments.size() - 1),
                            segments.first(segments.size() - 1), fits);
}

bool matches_behind_script(const Pattern& plain, Segments segments) {
  if (plain.segments.empty()) return false;  // `/*`: everything would be behind it
  std::vector<std::string_view> without;
  std::vector<std::string_view> named;  // `/webhooks.php/stripe` is `/webhooks/stripe` for some
  for (std::size_t i = 0; i < segments.size(); ++i) {
    named.push_back(is_script(segments[i]) ? segments[i].substr(0, segments[i].rfind('.')) : segments[i]);
    if (!is_script(segments[i])) {
      without.push_back(segments[i]);
      continue;
    }
    const Segments behind = segments.subspan(i + 1);
    if (matches(plain, behind) || matches_without_ending(plain, behind)) return true;
  }
  if (without.size() != segments.size() && (matches(plain, without) || matches(plain, named))) return true;
  const bool index = !segments.empty() && segments.back().starts_with("index.");
  return index && matches(plain, segments.first(segments.size() - 1));
}

bool begins_behind_script(const Pattern& plain, Segments segments) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (is_script(segments[i]) && begins_with(segments.subspan(i + 1), plain.segments)) return true;
  }
  return false;
}

// A server that does not follow every `..` is somewhere on the way.
bool leads_through(const Pattern& plain, Segments unfollowed) {
  std::vector<std::string_view> at;
  for (const std::string_view segment : unfollowed) {
    if (segment != "..") {
      at.push_back(segment);
      if (at.size() == plain.segments.size() && begins_with(at, plain.segments)) return true;
    } else if (!at.empty()) {
      at.pop_back();
    }
  }
  return false;
}

}  // namespace

std::string_view to_text(Overlooked what) {
  switch (what) {
    case Overlooked::writing:
      return "case, encodings, parameters, or slashes, dots and spaces that are not needed";
    case Overlooked::ending:
      return "an ending such as .json";
    case Overlooked::script:
      return "the name of a script such as index.php";
    case Overlooked::rest:
      return "what follows behind a path that they know";
  }
  return {};
}

Pattern plainest(const Pattern& pattern) {
  Pattern plain{.text = pattern.text, .segments = {}, .open = pattern.open};
  for (const std::string& segment : pattern.segments) {
    const std::string text = plain_text(segment);
    const std::string_view one = plain_segment(text);
    if (!one.empty()) plain.segments.emplace_back(one);
  }
  return plain;
}

bool is_plainest(std::string_view path) {
  if (!path.starts_with('/') || (path.size() > 1 && path.ends_with('/'))) return false;
  constexpr std::string_view altered = "%;\\?#(";
  char before = '\0';
  for (const char c : path) {
    if (is_space(c) || core::to_lower(c) != c || altered.find(c) != std::string_view::npos) return false;
    if (disguise_leads.find(c) != std::string_view::npos) return false;
    if (c == '/' && (before == '/' || before == '.')) return false;
    before = c;
  }
  return before != '.';
}

Spelling::Spelling(std::string_view path) {
  if (is_plainest(path)) {
    whole_ = steps_of(path);
    return;
  }
  text_ = plain_text(path);
  const std::size_t end = text_.find_first_of(std::string_view("\0?#", 3));
  if (end == std::string::npos) {
    whole_ = steps_of(text_);
    return;
  }
  // What is before the end stays where it is when NULs are dropped behind it.
  std::erase(text_, '\0');
  whole_ = steps_of(text_);
  ended_ = steps_of(std::string_view(text_).substr(0, end));
}

Spelling::Steps Spelling::steps_of(std::string_view text) {
  Steps steps;
  std::vector<std::string_view> all;
  bool follows = false;
  while (!text.empty()) {
    const std::size_t slash = text.find('/');
    const std::string_view segment = plain_segment(text.substr(0, slash));
    text.remove_prefix(slash == std::string_view::npos ? text.size() : slash + 1);
    if (segment.empty() || is_session(segment)) continue;
    all.push_back(segment);
    if (segment != "..") {
      steps.segments.push_back(segment);
    } else {
      follows = true;
      if (!steps.segments.empty()) steps.segments.pop_back();
    }
  }
  if (follows) steps.unfollowed = std::move(all);
  return steps;
}

bool Spelling::reads_as(const Pattern& plain, Overlooked what) const {
  return reads_as(whole_, plain, what) || (ended_ && reads_as(*ended_, plain, what));
}

bool Spelling::reads_as(const Steps& steps, const Pattern& plain, Overlooked what) {
  switch (what) {
    case Overlooked::writing:
      return matches(plain, steps.segments);
    case Overlooked::ending:
      return matches_without_ending(plain, steps.segments);
    case Overlooked::script:
      return matches_behind_script(plain, steps.segments);
    case Overlooked::rest:
      if (plain.segments.empty()) return false;  // everything is below `/`
      return begins_with(steps.segments, plain.segments) || begins_behind_script(plain, steps.segments) ||
             leads_through(plain, steps.unfollowed);
  }
  return false;
}

}  // namespace semel::policy
