// A comma is needed before a value or a name unless it is the first in its container, or has its name before it.
#include "core/json/writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "core/append.h"
#include "core/check.h"
#include "core/eight_bytes.h"
#include "core/encoding.h"
#include "core/json/string.h"
#include "core/utf8.h"

namespace semel::core::json {
namespace {

constexpr std::string_view quote = ",\"";

template <class Number>
void append_whole(std::string& out, Number value) {
  std::array<char, 20> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

// One unit of UTF-16.
void append_unit(std::string& out, std::uint32_t unit) {
  out.append({'\\', 'u', hex_digits[(unit >> 12U) & 15U], hex_digits[(unit >> 8U) & 15U],
              hex_digits[(unit >> 4U) & 15U], hex_digits[unit & 15U]});
}

// Of two bytes or more, well-formed.
void append_character(std::string& out, std::string_view character) {
  std::uint32_t code = static_cast<unsigned char>(character.front()) & (0x7fU >> character.size());
  for (const char c : character.substr(1)) code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3fU);
  if (code < 0x10000) {
    append_unit(out, code);
    return;
  }
  append_unit(out, 0xd800U + ((code - 0x10000) >> 10U));
  append_unit(out, 0xdc00U + ((code - 0x10000) & 0x3ffU));
}

enum class By : std::uint8_t { character, byte };

bool is_plain(std::string_view bytes) {
  return !any_byte(bytes, [](EightBytes eight) {
    return eight.below(0x20) | eight.equal_to('"') | eight.equal_to('\\') | eight.equal_to(0x7f) | eight.not_ascii();
  });
}

void append_escaped(std::string& out, std::string_view bytes, By by) {
  while (!bytes.empty()) {
    const std::size_t size = by == By::character ? utf8_character_size(bytes) : 1;
    if (size > 1) {
      append_character(out, bytes.substr(0, size));
      bytes.remove_prefix(size);
      continue;
    }
    const char c = bytes.front();
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (code < 0x20 || code >= 0x7f) {
      append_unit(out, code);
    } else {
      out.push_back(c);
    }
    bytes.remove_prefix(1);
  }
}

// `before` ends with the quote that the string begins with.
void append_bytes(std::string& out, std::string_view before, std::string_view bytes, By by) {
  if (is_plain(bytes)) return append_all(out, before, bytes, '"');
  out.append(before);
  append_escaped(out, bytes, by);
  out.push_back('"');
}

}  // namespace

void JsonWriter::separate() {
  if (behind_value_) out_.push_back(',');
  behind_value_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_.push_back(bracket);
  behind_value_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_.push_back(bracket);
  behind_value_ = true;
  return *this;
}

JsonWriter& JsonWriter::escaped_name(std::string_view name) {
  text(name);
  out_.push_back(':');
  behind_value_ = false;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  return put_text(with_comma(quote), value);
}

JsonWriter& JsonWriter::put_text(std::string_view before, std::string_view value) {
  out_.append(before);
  append_json_spelling(out_, value);
  out_.push_back('"');
  behind_value_ = true;
  return *this;
}

JsonWriter& JsonWriter::bytes(std::string_view value) {
  return put_bytes(with_comma(quote), value);
}

JsonWriter& JsonWriter::put_bytes(std::string_view before, std::string_view value) {
  append_bytes(out_, before, value, By::character);
  behind_value_ = true;
  return *this;
}

JsonWriter& JsonWriter::latin_1(std::string_view value) {
  append_bytes(out_, with_comma(quote), value, By::byte);
  behind_value_ = true;
  return *this;
}

JsonWriter& JsonWriter::hex(std::span<const std::uint8_t> value) {
  separate();
  out_.push_back('"');
  append_hex(out_, value);
  out_.push_back('"');
  return *this;
}

JsonWriter& JsonWriter::whole(std::uint64_t value) {
  separate();
  append_whole(out_, value);
  return *this;
}

JsonWriter& JsonWriter::whole(std::int64_t value) {
  separate();
  append_whole(out_, value);
  return *this;
}

JsonWriter& JsonWriter::thousandths(std::uint64_t value) {
  whole(value / 1000);
  const std::uint64_t rest = value % 1000;
  out_.append(rest < 10 ? ".00" : rest < 100 ? ".0" : ".");
  append_whole(out_, rest);
  return *this;
}

JsonWriter& JsonWriter::decimal(double value, int places) {
  separate();
  if (!std::isfinite(value)) {
    out_.append("null");
    return *this;
  }
  constexpr std::size_t whole_digits_max = std::numeric_limits<double>::max_exponent10 + 1;
  std::array<char, whole_digits_max + 32> digits;  // and a sign, a point and the places
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, places);
  check(end.ec == std::errc{}, "at most thirty places are written");
  out_.append(digits.data(), end.ptr);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  separate();
  out_.append(value ? "true" : "false");
  return *this;
}

}  // namespace semel::core::json
