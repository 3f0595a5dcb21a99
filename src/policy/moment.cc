// Each helper takes what it understands off the front of the text.
#include "policy/moment.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/ascii.h"
#include <semel/clock.h>

namespace semel {
namespace {

constexpr std::size_t digits_max = 15;  // of milliseconds: the year 33658

std::optional<std::int64_t> whole_number(std::string_view text) {
  if (text.empty() || text.size() > digits_max || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : text) number = number * 10 + (c - '0');
  return number;
}

// Takes `size` digits off the front.
std::optional<int> take_digits(std::string_view& text, std::size_t size) {
  const auto number = text.size() < size ? std::nullopt : whole_number(text.substr(0, size));
  if (!number) return std::nullopt;
  text.remove_prefix(size);
  return static_cast<int>(*number);
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::chrono::sys_days> take_date(std::string_view& text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, "-")) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, "-")) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  return date.ok() ? std::optional(std::chrono::sys_days(date)) : std::nullopt;
}

// Behind a point: any number of digits, of which three count.
std::optional<Millis> take_fraction(std::string_view& text) {
  if (!take(text, ".")) return Millis{0};
  const std::size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
  if (size == 0) return std::nullopt;
  int millis = 0;
  for (std::size_t i = 0; i < 3; ++i) millis = millis * 10 + (i < size ? text[i] - '0' : 0);
  text.remove_prefix(size);
  return Millis{millis};
}

std::optional<Millis> take_time_of_day(std::string_view& text) {
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ":")) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ":")) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  return std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second) + *fraction;
}

// `Z`, or hours and minutes with or without a colon between them. No zone at all counts as UTC.
std::optional<Millis> take_zone(std::string_view& text) {
  if (text.empty() || take(text, "Zz")) return Millis{0};
  const int sign = text.front() == '-' ? -1 : 1;
  if (!take(text, "+-")) return std::nullopt;
  const auto hours = take_digits(text, 2);
  take(text, ":");
  const auto minutes = take_digits(text, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return sign * (std::chrono::hours(*hours) + std::chrono::minutes(*minutes));
}

std::optional<Time> parse_rfc3339(std::string_view text) {
  const auto date = take_date(text);
  if (!date || !take(text, "Tt ")) return std::nullopt;
  const auto time = take_time_of_day(text);
  if (!time) return std::nullopt;
  const auto zone = take_zone(text);
  if (!zone || !text.empty()) return std::nullopt;
  return Time(*date) + *time - *zone;
}

}  // namespace

std::optional<Time> parse_moment(std::string_view text, MomentForm form) {
  if (form == MomentForm::rfc3339) return parse_rfc3339(text);
  const auto number = whole_number(text);
  if (!number) return std::nullopt;
  return form == MomentForm::seconds ? Time(std::chrono::seconds(*number)) : Time(Millis(*number));
}

}  // namespace semel
