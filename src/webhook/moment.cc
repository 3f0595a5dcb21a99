#include "webhook/moment.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ascii.h"
#include "core/rfc3339.h"
#include <semel/clock.h>

namespace semel::webhook {
namespace {

constexpr std::size_t digits_max = 15;  // of milliseconds: the year 33658

std::optional<std::int64_t> whole_number(std::string_view text) {
  if (text.empty() || text.size() > digits_max || !std::ranges::all_of(text, core::is_digit)) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : text) number = number * 10 + (c - '0');
  return number;
}

// Whole milliseconds: of the digits after the point, three count.
Time in_millis(const core::ExactTime& exact) {
  int millis = 0;
  for (std::size_t i = 0; i < 3; ++i) millis = millis * 10 + (i < exact.fraction.size() ? exact.fraction[i] - '0' : 0);
  return Time(std::chrono::seconds(exact.seconds)) + Millis{millis};
}

}  // namespace

std::optional<Time> parse_moment(std::string_view text, MomentForm form) {
  if (form == MomentForm::rfc3339) {
    const auto exact = core::parse_rfc3339(text);
    return exact ? std::optional(in_millis(*exact)) : std::nullopt;
  }
  const auto number = whole_number(text);
  if (!number) return std::nullopt;
  return form == MomentForm::seconds ? Time(std::chrono::seconds(*number)) : Time(Millis(*number));
}

}  // namespace semel::webhook
