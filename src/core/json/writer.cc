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

#include "core/check.h"
#include "core/eight_bytes.h"
#include "core/encoding.h"
#include "core/json/string.h"

namespace semel::core::json {
namespace {

template <class Number>
void append_whole(std::string& out, Number value) {
  std::array<char, 20> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void append_bytes(std::string& out, std::string_view bytes) {
  const bool plain = !any_byte(bytes, [](EightBytes eight) {
    return eight.below(0x20) | eight.equal_to('"') | eight.equal_to('\\') | eight.equal_to(0x7f) | eight.not_ascii();
  });
  if (plain) {
    out.append(bytes);
    return;
  }
  for (const char c : bytes) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (code < 0x20 || code >= 0x7f) {
      out.append({'\\', 'u', '0', '0', hex_digits[code >> 4U], hex_digits[code & 15U]});
    } else {
      out.push_back(c);
    }
  }
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
  separate();
  out_.push_back('"');
  return end_text(value);
}

JsonWriter& JsonWriter::end_text(std::string_view value) {
  append_json_spelling(out_, value);
  out_.push_back('"');
  behind_value_ = true;
  return *this;
}

JsonWriter& JsonWriter::bytes(std::string_view value) {
  separate();
  out_.push_back('"');
  return end_bytes(value);
}

JsonWriter& JsonWriter::end_bytes(std::string_view value) {
  append_bytes(out_, value);
  out_.push_back('"');
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
