// Bytes as text and back: hexadecimal and base64.
//
// Decoding is strict, since laxness could hide a mistake: only digits of the alphabet, no white space, no bits left
// over. Padding may be missing, as it often is in keys that people copy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace semel::core {

// Lower case. The one table of these digits.
inline constexpr std::string_view hex_digits = "0123456789abcdef";
void append_hex(std::string& out, std::span<const std::uint8_t> bytes);
std::string to_hex(std::span<const std::uint8_t> bytes);
std::string to_hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view text);                         // either case
enum class Base64 : std::uint8_t { standard, url };                                 // + and /, or - and _
std::string to_base64(std::string_view bytes, Base64 alphabet = Base64::standard);  // padded, but for url
std::optional<std::string> from_base64(std::string_view text, Base64 alphabet = Base64::standard);

}  // namespace semel::core
