// Digits by table, so that reading takes one lookup per character.
#include "core/encoding.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace semel::core {
namespace {

constexpr std::string_view standard_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t no_digit = 0xff;

using Values = std::array<std::uint8_t, 256>;

constexpr Values values_of(std::string_view digits) {
  Values values{};
  values.fill(no_digit);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

constexpr Values hex_values() {
  Values values = values_of(hex_digits);
  for (std::size_t i = 10; i < 16; ++i) values[static_cast<std::size_t>('A') + i - 10] = static_cast<std::uint8_t>(i);
  return values;
}

constexpr Values hex_table = hex_values();
constexpr Values standard_table = values_of(standard_digits);
constexpr Values url_table = values_of(url_digits);

std::uint8_t value(const Values& table, char digit) {
  return table[static_cast<unsigned char>(digit)];  // NOLINT(cppcoreguidelines-pro-bounds-constant-array-index)
}

// The text without the `=` at its end: there are as many as the size needs, or none.
std::optional<std::string_view> without_padding(std::string_view text) {
  if (!text.ends_with('=')) return text;
  if (text.size() % 4 != 0) return std::nullopt;
  text.remove_suffix(1);
  if (text.ends_with('=')) text.remove_suffix(1);
  return text;
}

}  // namespace

void append_hex(std::string& out, std::span<const std::uint8_t> bytes) {
  const std::size_t at = out.size();
  const std::size_t size = at + 2 * bytes.size();
  out.resize_and_overwrite(size, [&](char* text, std::size_t /*size*/) {
    char* to = text + at;
    for (const unsigned byte : bytes) {
      *to++ = hex_digits[byte >> 4U];
      *to++ = hex_digits[byte & 15U];
    }
    return size;
  });
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  append_hex(text, bytes);
  return text;
}

std::string to_hex(std::string_view bytes) {
  return to_hex(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::uint8_t high = value(hex_table, text[i]);
    const std::uint8_t low = value(hex_table, text[i + 1]);
    if (high == no_digit || low == no_digit) return std::nullopt;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

std::string to_base64(std::string_view bytes, Base64 alphabet) {
  const std::string_view digits = alphabet == Base64::url ? url_digits : standard_digits;
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) text.push_back(digits[(bits >> (count - 6)) & 63U]);
  }
  if (count > 0) text.push_back(digits[(bits << (6 - count)) & 63U]);
  while (alphabet == Base64::standard && text.size() % 4 != 0) text.push_back('=');
  return text;
}

std::optional<std::string> from_base64(std::string_view text, Base64 alphabet) {
  const auto digits = without_padding(text);
  if (!digits || digits->size() % 4 == 1) return std::nullopt;
  const Values& table = alphabet == Base64::url ? url_table : standard_table;
  std::string bytes;
  bytes.reserve(digits->size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : *digits) {
    const std::uint8_t digit = value(table, c);
    if (digit == no_digit) return std::nullopt;
    bits = (bits << 6U) | digit;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>((bits >> count) & 255U));
  }
  const bool bits_left = (bits & ((1U << count) - 1U)) != 0;
  if (bits_left) return std::nullopt;
  return bytes;
}

}  // namespace semel::core
