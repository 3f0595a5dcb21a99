// Bytes as text and back: hexadecimal and base64.
//
// Decoding is strict where laxness could hide a mistake: nothing but digits of the alphabet, no white space, no bits
// left over. Padding may be missing, as it often is in keys that people copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace semel::core {

std::string to_hex(std::string_view bytes);                                         // lower case
std::optional<std::string> from_hex(std::string_view text);                         // either case
enum class Base64 : std::uint8_t { standard, url };                                 // + and /, or - and _
std::string to_base64(std::string_view bytes, Base64 alphabet = Base64::standard);  // padded, but for url
std::optional<std::string> from_base64(std::string_view text, Base64 alphabet = Base64::standard);

}  // namespace semel::core
