#include "policy/fields.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/field_view.h"
#include "policy/ascii.h"
#include "policy/request_view.h"
namespace semel {
namespace {

constexpr std::array<std::string_view, 7> hop_by_hop{"Connection", "Keep-Alive", "Proxy-Connection",   "TE",
                                                     "Upgrade",    "Trailer",    "Proxy-Authorization"};
constexpr std::array<std::string_view, 2> framing{"Content-Length", "Transfer-Encoding"};
constexpr std::array<std::string_view, 8> personal{"Set-Cookie",
                                                   "Set-Cookie2",
                                                   "Date",
                                                   "WWW-Authenticate",
                                                   "Proxy-Authenticate",
                                                   "Authentication-Info",
                                                   "Proxy-Authentication-Info",
                                                   "Authentication-Control"};

constexpr bool is_token_char(char c) {
  return is_letter(c) || is_digit(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// Every byte of every field is looked up here, so the answers are worked out once.
using ByteSet = std::array<bool, 256>;
template <class Test>
consteval ByteSet bytes_that(Test test) {
  ByteSet set{};
  for (std::size_t byte = 0; byte < set.size(); ++byte) set.at(byte) = test(static_cast<char>(byte));
  return set;
}
constexpr ByteSet in_names = bytes_that(is_token_char);
constexpr ByteSet in_values = bytes_that([](char c) { return !is_control(c) || c == '\t'; });

bool all_in(std::string_view text, const ByteSet& set) {
  return std::ranges::all_of(text, [&set](char c) { return set[static_cast<unsigned char>(c)]; });
}

}  // namespace

bool is_field_name(std::string_view name) {
  return !name.empty() && all_in(name, in_names);
}

bool is_field_value(std::string_view value) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  return all_in(value, in_values) && (value.empty() || (!blank(value.front()) && !blank(value.back())));
}

bool contains_name(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view other) { return equal_ignoring_case(other, name); });
}

bool contains_name(std::span<const std::string> names, std::string_view name) {
  return std::ranges::any_of(names, [&](const std::string& other) { return equal_ignoring_case(other, name); });
}

bool is_hop_by_hop(std::string_view name) {
  return contains_name(hop_by_hop, name);
}
bool is_framing(std::string_view name) {
  return contains_name(framing, name);
}
bool is_personal(std::string_view name) {
  return contains_name(personal, name);
}

std::vector<std::string_view> named_by_connection(std::span<const FieldView> fields) {
  std::vector<std::string_view> names;
  for (std::string_view line : lines_of(fields, "Connection")) {
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(','), line.size());
      const std::string_view name = trimmed(line.substr(0, end));
      if (!name.empty()) names.push_back(name);
      line.remove_prefix(std::min(line.size(), end + 1));
    }
  }
  return names;
}

}  // namespace semel
