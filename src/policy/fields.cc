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

bool is_token_char(char c) {
  return is_letter(c) || is_digit(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

}  // namespace

bool is_field_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, is_token_char);
}

bool is_field_value(std::string_view value) {
  const auto bad = [](char c) { return is_control(c) && c != '\t'; };
  return std::ranges::none_of(value, bad) && trimmed(value).size() == value.size();
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
