// A number is a sign, the place of its first digit, and its digits without zeros at either end; a negative number has
// all its bytes inverted and the highest byte at its end, so that the shorter of two comes later.
#include "core/stamp.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/rfc3339.h"

namespace semel::core {
namespace {

constexpr std::size_t text_bytes_max = 1'000;
constexpr std::int64_t exponent_max = 1'000'000;
constexpr std::uint32_t middle_32 = std::uint32_t{1} << 31U;
constexpr std::uint64_t middle_64 = std::uint64_t{1} << 63U;

enum Sign : char { negative = 0, zero = 1, positive = 2 };

template <class Number>
void append(std::string& out, Number number) {
  for (std::size_t shift = 8 * sizeof(Number); shift > 0; shift -= 8) {
    out.push_back(static_cast<char>((number >> (shift - 8)) & 0xffU));
  }
}

std::string_view take_digits(std::string_view& text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  return digits;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::int64_t> take_exponent(std::string_view& text) {
  if (!take(text, "eE")) return 0;
  const bool below = !text.empty() && text.front() == '-';
  take(text, "+-");
  const std::string_view digits = take_digits(text);
  std::int64_t exponent = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (digits.empty() || error != std::errc() || exponent > exponent_max) return std::nullopt;
  return below ? -exponent : exponent;
}

std::optional<std::string> number_stamp(std::string_view text) {
  const bool below = take(text, "-");
  const std::string_view whole = take_digits(text);
  if (whole.empty()) return std::nullopt;
  std::string_view fraction;
  if (take(text, ".")) {
    fraction = take_digits(text);
    if (fraction.empty()) return std::nullopt;
  }
  const auto exponent = take_exponent(text);
  if (!exponent || !text.empty()) return std::nullopt;

  std::string digits = std::string(whole).append(fraction);
  const std::size_t first = digits.find_first_not_of('0');
  if (first == std::string::npos) return std::string(1, zero);
  digits.erase(digits.find_last_not_of('0') + 1);
  const std::int64_t place = static_cast<std::int64_t>(whole.size()) - static_cast<std::int64_t>(first) + *exponent;
  std::string size;
  append(size, static_cast<std::uint32_t>(middle_32 + place));
  size.append(digits, first);
  if (!below) return std::string(1, positive).append(size);
  for (char& byte : size) byte = static_cast<char>(~byte);
  return std::string(1, negative).append(size).append(1, '\xff');
}

std::optional<std::string> time_stamp(std::string_view text) {
  const auto exact = parse_rfc3339(text);
  if (!exact) return std::nullopt;
  std::string stamp;
  append(stamp, static_cast<std::uint64_t>(exact->seconds) ^ middle_64);
  stamp.append(exact->fraction.substr(0, exact->fraction.find_last_not_of('0') + 1));
  return stamp;
}

}  // namespace

std::optional<std::string> stamp_of(std::string_view text, OrderForm form) {
  if (text.empty() || text.size() > text_bytes_max) return std::nullopt;
  if (form == OrderForm::number) return number_stamp(text);
  if (form == OrderForm::rfc3339) return time_stamp(text);
  return std::string(text);
}

}  // namespace semel::core
