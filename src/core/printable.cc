#include "core/printable.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/ascii.h"
#include "core/encoding.h"
#include "core/utf8.h"

namespace semel::core {
namespace {

// Of one character, well-formed.
bool acts_on_a_terminal(std::string_view character) {
  if (character.size() == 1) return is_control(character.front());
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 2) return (byte(0) == 0xC2 && byte(1) < 0xA0) || character == "\u061C";
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  const bool marks = byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE));
  return marks || (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = utf8_character_size(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(size, 1));
    if (size == 0 || acts_on_a_terminal(character)) {
      for (std::size_t i = 0; i < character.size(); ++i) out.append("\\x").append(to_hex(character.substr(i, 1)));
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  return out;
}

std::string printable(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return printable(text);
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return printable(text.substr(0, end)) + "...";
}

}  // namespace semel::core
