// Addresses are sixteen bytes here: an IPv4 address in the form that IPv6 has for it (RFC 4291, 2.5.5.2).
#include "reading/address_range.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "reading/fault.h"

namespace semel::reading {
namespace {

using AddressBytes = std::array<std::uint8_t, 16>;
constexpr std::size_t mapped_bits = 96;  // in front of an IPv4 address

struct IpAddress {
  AddressBytes bytes{};
  bool four = false;
};

std::optional<std::uint32_t> number_of(std::string_view text, int base, std::size_t digits_max, std::uint32_t max) {
  std::uint32_t number = 0;
  if (text.empty() || text.size() > digits_max) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size() || number > max) return std::nullopt;
  return number;
}

std::optional<std::array<std::uint8_t, 4>> four_bytes(std::string_view text) {
  std::array<std::uint8_t, 4> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t dot = i + 1 < bytes.size() ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return std::nullopt;
    const std::string_view part = text.substr(0, dot);
    const auto number = number_of(part, 10, 3, 255);
    if (!number || (part.size() > 1 && part.front() == '0')) return std::nullopt;
    bytes.at(i) = static_cast<std::uint8_t>(*number);
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  return bytes;
}

// The bytes of groups with colons between them. An IPv4 address may be the last of them.
std::optional<std::vector<std::uint8_t>> groups_of(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  while (!text.empty()) {
    const std::size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    if (colon == std::string_view::npos && group.find('.') != std::string_view::npos) {
      const auto last = four_bytes(group);
      if (!last) return std::nullopt;
      bytes.insert(bytes.end(), last->begin(), last->end());
      return bytes;
    }
    const auto number = number_of(group, 16, 4, 0xFFFF);
    if (!number || colon + 1 == text.size()) return std::nullopt;
    bytes.push_back(static_cast<std::uint8_t>(*number >> 8U));
    bytes.push_back(static_cast<std::uint8_t>(*number & 0xFFU));
    text = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  }
  return bytes;
}

std::optional<IpAddress> address_of(std::string_view text) {
  IpAddress address;
  if (const auto four = four_bytes(text)) {
    address.bytes[10] = address.bytes[11] = 0xFF;
    std::ranges::copy(*four, address.bytes.begin() + mapped_bits / 8);
    address.four = true;
    return address;
  }
  const std::size_t gap = text.find("::");
  const auto front = groups_of(text.substr(0, gap));
  const bool whole = gap == std::string_view::npos;
  const auto back = groups_of(whole ? std::string_view() : text.substr(gap + 2));
  if (!front || !back) return std::nullopt;
  const std::size_t size = front->size() + back->size();
  if (whole ? size != address.bytes.size() : size > address.bytes.size() - 2) return std::nullopt;
  std::ranges::copy(*front, address.bytes.begin());
  std::ranges::copy(*back, address.bytes.end() - static_cast<std::ptrdiff_t>(back->size()));
  return address;
}

bool same_beginning(const AddressBytes& a, const AddressBytes& b, std::size_t bits) {
  const std::size_t whole = bits / 8;
  if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(whole), b.begin())) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xFFU << (8 - bits % 8));
  return (a.at(whole) & mask) == (b.at(whole) & mask);
}

bool ends_in_zeros(const AddressBytes& bytes, std::size_t bits) {
  for (std::size_t at = bits; at < bytes.size() * 8; ++at) {
    if ((bytes.at(at / 8) & (0x80U >> (at % 8))) != 0) return false;
  }
  return true;
}

}  // namespace

Parsed<AddressRange> AddressRange::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<IpAddress> address = address_of(text.substr(0, slash));
  if (!address) return fault("must be an address such as 10.0.0.5, or a range such as 10.0.0.0/8");
  AddressRange range;
  range.bytes_ = address->bytes;
  if (slash == std::string_view::npos) return range;
  const std::string_view digits = text.substr(slash + 1);
  const std::size_t most = address->four ? 32 : 128;
  const auto bits = number_of(digits, 10, 3, static_cast<std::uint32_t>(most));
  if (!bits) {
    return fault(address->four ? "a range ends in /0 to /32" : "a range ends in /0 to /128", {}, slash);
  }
  range.bits_ = address->four ? *bits + mapped_bits : *bits;
  if (!ends_in_zeros(range.bytes_, range.bits_)) return fault("the address has bits behind its prefix");
  return range;
}

bool AddressRange::holds(std::string_view address) const {
  const std::optional<IpAddress> given = address_of(address);
  return given && same_beginning(given->bytes, bytes_, bits_);
}

}  // namespace semel::reading
