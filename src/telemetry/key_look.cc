#include "telemetry/key_look.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <semel/clock.h>

namespace semel::telemetry {
namespace {

constexpr std::size_t brief_below = 8;
constexpr std::size_t digits_max = 19;                      // fit into 64 bits
constexpr std::size_t number_digits_max = 12;               // a longer number is no count of anything
constexpr std::int64_t close_seconds = 5LL * 366 * 86'400;  // to now, of a number that is a time
constexpr std::size_t phone_digits_min = 8;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

std::uint64_t value_of(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : digits) value = (value * 10) + static_cast<std::uint64_t>(c - '0');
  return value;
}

// In seconds, thousandths, millionths or billionths.
bool is_time(std::string_view text, Time now) {
  if (!all_digits(text) || text.size() < 10 || text.size() > digits_max) return false;
  std::uint64_t value = value_of(text);
  for (std::size_t digits = text.size(); digits >= 13; digits -= 3) value /= 1'000;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const std::int64_t apart = static_cast<std::int64_t>(value) - seconds;
  return apart > -close_seconds && apart < close_seconds;
}

// 2026-11-17, 20261117T…, with anything behind it that dates have.
bool is_date(std::string_view text) {
  if (text.size() < 10 || text.substr(0, 2) != "20" || !all_digits(text.substr(0, 4))) return false;
  const bool dashed =
      text[4] == '-' && all_digits(text.substr(5, 2)) && text[7] == '-' && all_digits(text.substr(8, 2));
  const bool compact = text[8] == 'T' && all_digits(text.substr(4, 4));
  const auto of_a_time = [](char c) { return is_digit(c) || std::string_view("-:.+TZ ").contains(c); };
  return (dashed || compact) && std::ranges::all_of(text, of_a_time);
}

bool is_mail(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos || at == 0) return false;
  const std::size_t dot = text.find('.', at);
  return dot != std::string_view::npos && dot > at + 1 && dot + 1 < text.size();
}

bool is_phone(std::string_view text) {
  if (text.empty() || text.front() != '+') return false;
  const auto digits = static_cast<std::size_t>(std::ranges::count_if(text, is_digit));
  const auto of_a_phone = [](char c) { return is_digit(c) || std::string_view("+-() ").contains(c); };
  return digits >= phone_digits_min && std::ranges::all_of(text, of_a_phone);
}

// What stands in front of the number at the end: letters and separators, as in order-1001 or INV_7.
bool is_label(std::string_view text) {
  const auto of_a_label = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || !(is_digit(c)); };
  return std::ranges::all_of(text, of_a_label) && (text.empty() || std::string_view("-_.:/#").contains(text.back()));
}

}  // namespace

KeyLook look_at_key(std::string_view text, Time now) {
  if (is_mail(text) || is_phone(text)) return {.shape = KeyShape::personal};
  if (is_time(text, now) || is_date(text)) return {.shape = KeyShape::clock};
  const auto behind = std::ranges::find_if_not(text.rbegin(), text.rend(), is_digit);
  const auto digits = static_cast<std::size_t>(behind - text.rbegin());
  if (digits > 0 && digits <= number_digits_max && is_label(text.substr(0, text.size() - digits))) {
    return {.shape = KeyShape::numbered, .number = value_of(text.substr(text.size() - digits))};
  }
  return {.shape = text.size() < brief_below ? KeyShape::brief : KeyShape::opaque};
}

}  // namespace semel::telemetry
