#include "inbox/schedule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "core/ascii.h"
#include <semel/clock.h>

namespace semel::inbox {
namespace {

constexpr double spread = 0.2;
constexpr std::size_t hopeless_step = 2;
constexpr std::uint64_t seconds_max = 10ULL * 365 * 86'400;

Millis scaled(Millis wait, double by) {
  return Millis{static_cast<Millis::rep>(static_cast<double>(wait.count()) * by)};
}

std::optional<unsigned> digits(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `Sun, 06 Nov 1994 08:49:37 GMT`
std::optional<Time> parse_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT") return std::nullopt;
  const auto* const month = std::ranges::find(months, text.substr(8, 3));
  const auto day = digits(text.substr(5, 2));
  const auto year = digits(text.substr(12, 4));
  const auto hour = digits(text.substr(17, 2));
  const auto minute = digits(text.substr(20, 2));
  const auto second = digits(text.substr(23, 2));
  if (month == months.end() || !day || !year || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(month - months.begin()) + 1),
                                         std::chrono::day(*day)};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return Time{std::chrono::sys_days(date)} + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second);
}

}  // namespace

Millis RetrySchedule::length() const {
  Millis all{0};
  for (const Millis step : steps) all += step;
  return all;
}

std::optional<Millis> next_wait(const RetrySchedule& schedule, const FailedAttempt& failure, double chance) {
  std::size_t step = failure.tries;
  if (failure.hopeless) step = std::max(step, hopeless_step);
  const Millis base = schedule.steps.empty() ? Millis{0} : schedule.steps[std::min(step, schedule.steps.size() - 1)];
  Millis wait = scaled(base, 1 - spread + 2 * spread * chance);
  if (failure.retry_after) {
    const Millis floor = std::min(*failure.retry_after, schedule.retry_after_max);
    wait = std::max(wait, floor + scaled(floor, spread * chance));
  }
  if (failure.age + wait > schedule.give_up_after) return std::nullopt;
  return wait;
}

std::optional<Millis> parse_retry_after(std::string_view value, Time now) {
  value = core::trimmed(value);
  if (const auto date = parse_date(value)) return std::max(*date - now, Millis{0});
  std::uint64_t seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (value.empty() || end != value.data() + value.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) seconds = seconds_max;
  return Millis{static_cast<Millis::rep>(std::min(seconds, seconds_max)) * 1'000};
}

}  // namespace semel::inbox
