// Strings are mostly plain runs, copied sixteen bytes at a time; what is not plain is handled one character at a time.
#include "core/json/string.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <experimental/simd>  // IWYU pragma: keep

#include "core/ascii.h"
#include "core/eight_bytes.h"
#include "core/encoding.h"
#include "core/json/text.h"
#include "core/utf8.h"

namespace semel::core::json {
namespace {

namespace simd = std::experimental;
using Bytes = simd::simd<signed char, simd::simd_abi::deduce_t<signed char, 16>>;
static_assert(Bytes::size() <= json_slack_bytes);

// How many of the bytes at `in` come before the first quote, backslash, control character or non-ASCII byte (a negative
// one).
std::size_t plain_bytes(const char* in) {
  Bytes bytes;
  bytes.copy_from(reinterpret_cast<const signed char*>(in), simd::element_aligned);
  const auto found = bytes < ' ' || bytes == '"' || bytes == '\\';
  return simd::any_of(found) ? static_cast<std::size_t>(simd::find_first_set(found)) : Bytes::size();
}

bool is_plain(char c) {
  return c >= ' ' && c != '"' && c != '\\' && static_cast<unsigned char>(c) < 0x80U;
}

JsonStep put_plain_run(JsonStep at, const char* end) {
  while (static_cast<std::size_t>(end - at.in) >= Bytes::size()) {
    const std::size_t plain = plain_bytes(at.in);
    std::memcpy(at.out, at.in, Bytes::size());  // what is not plain is overwritten
    at.in += plain;
    at.out += plain;
    if (plain < Bytes::size()) return at;
  }
  while (at.in != end && is_plain(*at.in)) *at.out++ = *at.in++;
  return at;
}

[[gnu::noinline]] JsonStep put_non_ascii_run(JsonStep at, const char* end) {
  while (at.in != end && static_cast<unsigned char>(*at.in) >= 0x80U) {
    const std::size_t size = utf8_character_size({at.in, end});
    if (size == 0) return {};
    at.out = std::copy_n(at.in, size, at.out);
    at.in += size;
  }
  return at;
}

// A character that must be escaped inside a JSON string.
struct Escape {
  explicit Escape(char c) {
    constexpr std::string_view short_of = "\"\\\b\t\n\f\r";
    constexpr std::string_view short_form = "\"\\btnfr";
    if (const std::size_t i = short_of.find(c); i != std::string_view::npos) {
      bytes = {'\\', short_form[i]};
      size = 2;
    } else {
      const auto code = static_cast<unsigned char>(c);
      bytes = {'\\', 'u', '0', '0', hex_digits[code >> 4U], hex_digits[code & 15U]};
      size = 6;
    }
  }
  [[nodiscard]] std::string_view text() const { return {bytes.data(), size}; }

  std::array<char, 6> bytes{};
  std::size_t size;
};

char* put(char* out, std::string_view run) {
  return std::ranges::copy(run, out).out;
}

char* put_code_point(char* out, std::uint32_t code) {
  const auto tail = [&](unsigned shift) { *out++ = static_cast<char>(0x80U | ((code >> shift) & 0x3FU)); };
  if (code < 0x80) {
    const char c = static_cast<char>(code);
    return is_plain(c) ? put(out, {&c, 1}) : put(out, Escape(c).text());
  }
  if (code < 0x800) {
    *out++ = static_cast<char>(0xC0U | (code >> 6U));
    tail(0);
  } else if (code < 0x10000) {
    *out++ = static_cast<char>(0xE0U | (code >> 12U));
    tail(6);
    tail(0);
  } else {
    *out++ = static_cast<char>(0xF0U | (code >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
  return out;
}

// The four hexadecimal digits at `in`, or -1.
std::int32_t code_unit(const char* in, const char* end) {
  if (end - in < 4) return -1;
  std::int32_t unit = 0;
  for (int i = 0; i < 4; ++i) {
    if (!is_hex_digit(in[i])) return -1;
    unit = unit * 16 + static_cast<std::int32_t>(hex_value(in[i]));
  }
  return unit;
}

// `at.in` is just after `\u`.
JsonStep put_unicode_escape(JsonStep at, const char* end) {
  const std::int32_t unit = code_unit(at.in, end);
  if (unit < 0) return {};
  at.in += 4;
  if (unit < 0xD800 || unit > 0xDFFF) return {at.in, put_code_point(at.out, static_cast<std::uint32_t>(unit))};
  const bool high = unit <= 0xDBFF;
  if (!high || end - at.in < 6 || at.in[0] != '\\' || at.in[1] != 'u') return {};
  const std::int32_t low = code_unit(at.in + 2, end);
  if (low < 0xDC00 || low > 0xDFFF) return {};
  const std::int32_t code = 0x10000 + (unit - 0xD800) * 0x400 + (low - 0xDC00);
  return {at.in + 6, put_code_point(at.out, static_cast<std::uint32_t>(code))};
}

// `at.in` is just after the backslash. Out of line, so that the loop over plain runs needs no stack frame.
[[gnu::noinline]] JsonStep put_escape(JsonStep at, const char* end) {
  if (at.in == end) return {};
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  const char letter = *at.in++;
  if (letter == 'u') return put_unicode_escape(at, end);
  const std::size_t i = letters.find(letter);
  if (i == std::string_view::npos) return {};
  return {at.in, put_code_point(at.out, static_cast<unsigned char>(meanings[i]))};
}

}  // namespace

JsonStep put_json_string(const char* in, const char* end, char* out) {
  *out++ = '"';
  JsonStep at{.in = in, .out = out};
  while (at.in != nullptr) {
    at = put_plain_run(at, end);
    if (at.in == end) return {};
    const char c = *at.in;
    if (c == '"') {
      *at.out = c;
      return {.in = at.in + 1, .out = at.out + 1};
    }
    if (c == '\\') {
      at = put_escape({.in = at.in + 1, .out = at.out}, end);
    } else if (static_cast<unsigned char>(c) >= 0x80U) {
      at = put_non_ascii_run(at, end);
    } else {
      return {};
    }
  }
  return {};
}

void append_json_spelling(std::string& out, std::string_view text) {
  const bool plain =
      !any_byte(text, [](EightBytes eight) { return eight.below(' ') | eight.equal_to('"') | eight.equal_to('\\'); });
  if (plain) {
    out.append(text);
    return;
  }
  for (const char c : text) {
    if (is_plain(c) || static_cast<unsigned char>(c) >= 0x80U) {
      out.push_back(c);
    } else {
      out.append(Escape(c).text());
    }
  }
}

std::string json_spelling(std::string_view text) {
  std::string spelling;
  append_json_spelling(spelling, text);
  return spelling;
}

}  // namespace semel::core::json
