// A number is taken apart into runs of digits of the source; zeros are dropped from the ends of the runs, and no digit
// is ever moved. So a number of a million digits costs what reading and copying it costs.
#include "core/json/number.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/json/text.h"

namespace semel::core::json {
namespace {

// Far more than the digits of any body could bring back within bounds, far less than what overflows.
constexpr std::int64_t exponent_saturated = std::int64_t{1} << 50;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(const char*& in, const char* end) {
  const char* const begin = in;
  while (in != end && is_digit(*in)) ++in;
  return {begin, in};
}

struct Decimal {
  std::string_view whole;
  std::string_view fraction;
  std::int64_t exponent = 0;
};

bool take_exponent(const char*& in, const char* end, std::int64_t& exponent) {
  const bool negative = in != end && *in == '-';
  if (in != end && (*in == '-' || *in == '+')) ++in;
  const std::string_view digits = take_digits(in, end);
  for (const char digit : digits) {
    if (exponent < exponent_saturated) exponent = exponent * 10 + (digit - '0');
  }
  if (negative) exponent = -exponent;
  return !digits.empty();
}

// Everything after the sign; null if it is not a number.
const char* take_decimal(const char* in, const char* end, Decimal& decimal) {
  decimal.whole = take_digits(in, end);
  if (decimal.whole.empty() || (decimal.whole.size() > 1 && decimal.whole.front() == '0')) return nullptr;
  if (in != end && *in == '.') {
    decimal.fraction = take_digits(++in, end);
    if (decimal.fraction.empty()) return nullptr;
  }
  if (in != end && (*in == 'e' || *in == 'E')) {
    if (!take_exponent(++in, end, decimal.exponent)) return nullptr;
  }
  return in;
}

void drop_zeros_in_front(std::string_view& digits) {
  const std::size_t first = digits.find_first_not_of('0');
  digits.remove_prefix(first == std::string_view::npos ? digits.size() : first);
}

// Returns how many there were.
std::size_t drop_zeros_behind(std::string_view& digits) {
  const std::size_t size = digits.size();
  digits = digits.substr(0, digits.find_last_not_of('0') + 1);  // npos + 1 is 0: nothing but zeros
  return size - digits.size();
}

// Leaves whole and fraction as one run of digits without zeros at its ends, to be read as an integer, and the exponent
// that belongs to it. Zero is the empty run.
void normalise(Decimal& decimal) {
  drop_zeros_behind(decimal.fraction);
  decimal.exponent -= static_cast<std::int64_t>(decimal.fraction.size());
  if (decimal.fraction.empty()) decimal.exponent += static_cast<std::int64_t>(drop_zeros_behind(decimal.whole));
  if (decimal.whole == "0") decimal.whole = {};  // the only whole part that begins with a zero
  if (decimal.whole.empty()) drop_zeros_in_front(decimal.fraction);
}

}  // namespace

JsonStep put_json_number(const char* in, const char* end, char* out) {
  if (*in == '-') *out++ = *in++;
  Decimal decimal;
  in = take_decimal(in, end, decimal);
  if (in == nullptr) return {};
  normalise(decimal);
  if (decimal.whole.empty() && decimal.fraction.empty()) {
    *out++ = '0';
    return {.in = in, .out = out};
  }
  if (decimal.exponent > json_exponent_max || decimal.exponent < -json_exponent_max) return {};
  out = std::ranges::copy(decimal.whole, out).out;
  out = std::ranges::copy(decimal.fraction, out).out;
  if (decimal.exponent != 0) {
    *out++ = 'e';
    out = std::to_chars(out, out + 5, decimal.exponent).ptr;  // -9999 at most
  }
  return {.in = in, .out = out};
}

}  // namespace semel::core::json
