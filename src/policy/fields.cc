#include "policy/fields.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/ascii.h"
#include "core/eight_bytes.h"
#include "core/field_view.h"
#include "policy/name_set.h"

namespace semel::policy {
namespace {

constexpr NameSet hop_by_hop("Connection", "Keep-Alive", "Proxy-Connection", "TE", "Upgrade", "Trailer",
                             "Proxy-Authorization");
constexpr NameSet framing("Content-Length", "Transfer-Encoding");
constexpr NameSet personal("Set-Cookie", "Set-Cookie2", "Date", "WWW-Authenticate", "Proxy-Authenticate",
                           "Authentication-Info", "Proxy-Authentication-Info", "Authentication-Control");

constexpr bool is_token_char(char c) {
  return core::is_letter(c) || core::is_digit(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// Every byte of every name is looked up here, so the answers are worked out once.
constexpr std::array<bool, 256> in_names = [] {
  std::array<bool, 256> set{};
  for (std::size_t byte = 0; byte < set.size(); ++byte) set.at(byte) = is_token_char(static_cast<char>(byte));
  return set;
}();

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

bool is_field_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return in_names[static_cast<unsigned char>(c)]; });
}

bool is_field_value(std::string_view value) {
  if (value.empty()) return true;
  if (is_blank(value.front()) || is_blank(value.back())) return false;
  const bool control =
      core::any_byte(value, [](core::EightBytes eight) { return eight.below(0x20) | eight.equal_to(0x7f); });
  return !control || std::ranges::all_of(value, [](char c) { return !core::is_control(c) || c == '\t'; });
}

bool contains_name(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view other) { return core::equal_ignoring_case(other, name); });
}

bool contains_name(std::span<const std::string> names, std::string_view name) {
  return std::ranges::any_of(names, [&](const std::string& other) { return core::equal_ignoring_case(other, name); });
}

bool is_hop_by_hop(std::string_view name) {
  return hop_by_hop.contains(name);
}
bool is_framing(std::string_view name) {
  return framing.contains(name);
}
bool is_personal(std::string_view name) {
  return personal.contains(name);
}

ConnectionNames named_by_connection(std::span<const FieldView> fields) {
  ConnectionNames names;
  for (const FieldView& field : fields) {
    if (!core::equal_ignoring_case(field.name, "Connection")) continue;
    std::string_view line = field.value;
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(','), line.size());
      const std::string_view name = core::trimmed(line.substr(0, end));
      if (!name.empty()) names.push_back(name);
      line.remove_prefix(std::min(line.size(), end + 1));
    }
  }
  return names;
}

}  // namespace semel::policy
