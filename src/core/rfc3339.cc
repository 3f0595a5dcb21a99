// Each helper removes the part that it reads from the front of the text.
#include "core/rfc3339.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

namespace semel::core {
namespace {

using std::chrono::seconds;

// Removes `size` digits from the front.
std::optional<int> take_digits(std::string_view& text, std::size_t size) {
  if (text.size() < size) return std::nullopt;
  int number = 0;
  for (const char c : text.substr(0, size)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  text.remove_prefix(size);
  return number;
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

std::optional<seconds> take_time_of_day(std::string_view& text) {
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ":")) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ":")) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return std::chrono::hours(*hour) + std::chrono::minutes(*minute) + seconds(*second);
}

// After a point: at least one digit.
std::optional<std::string_view> take_fraction(std::string_view& text) {
  if (!take(text, ".")) return std::string_view();
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  if (digits.empty()) return std::nullopt;
  text.remove_prefix(digits.size());
  return digits;
}

std::optional<seconds> take_zone(std::string_view& text) {
  if (text.empty() || take(text, "Zz")) return seconds{0};
  if (text == " UTC") {
    text = {};
    return seconds{0};
  }
  const int sign = text.front() == '-' ? -1 : 1;
  if (!take(text, "+-")) return std::nullopt;
  const auto hours = take_digits(text, 2);
  take(text, ":");
  const auto minutes = take_digits(text, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return sign * (std::chrono::hours(*hours) + std::chrono::minutes(*minutes));
}

}  // namespace

std::optional<ExactTime> parse_rfc3339(std::string_view text) {
  const auto date = take_date(text);
  if (!date || !take(text, "Tt ")) return std::nullopt;
  const auto time = take_time_of_day(text);
  if (!time) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  const auto zone = take_zone(text);
  if (!zone || !text.empty()) return std::nullopt;
  const std::chrono::sys_seconds at = *date + *time - *zone;
  return ExactTime{.seconds = at.time_since_epoch().count(), .fraction = *fraction};
}

}  // namespace semel::core
