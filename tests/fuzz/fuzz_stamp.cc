// Fuzzes what tells the newer of two events: two texts, on two lines, in each form.
//
// Whatever a text is, it has a stamp of a bounded size or none, and always the same. Of two numbers that fit, the
// stamps say what the numbers say; more digits at the end of a fraction never make a time older.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/check.h"
#include "core/rfc3339.h"
#include "core/stamp.h"
#include <semel/store.h>

namespace {

std::optional<std::int64_t> small_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = std::min(input.find('\n'), input.size());
  const std::string_view first = input.substr(0, middle);
  const std::string_view second = input.substr(std::min(input.size(), middle + 1));
  for (const auto form :
       {semel::core::OrderForm::number, semel::core::OrderForm::rfc3339, semel::core::OrderForm::text}) {
    for (const std::string_view text : {first, second}) {
      const auto stamp = semel::core::stamp_of(text, form);
      semel::core::check(!stamp || (!stamp->empty() && stamp->size() <= semel::stamp_bytes_max), "a stamp has a size");
      semel::core::check(stamp == semel::core::stamp_of(text, form), "a text has one stamp");
    }
  }
  const auto a = small_number(first);
  const auto b = small_number(second);
  if (a && b) {
    const auto one = semel::core::stamp_of(first, semel::core::OrderForm::number);
    const auto two = semel::core::stamp_of(second, semel::core::OrderForm::number);
    semel::core::check(one && two && (*one < *two) == (*a < *b) && (*one == *two) == (*a == *b),
                       "stamps compare as numbers");
  }
  const auto time = semel::core::parse_rfc3339(first);
  if (time && !time->fraction.empty()) {
    const auto at = static_cast<std::size_t>(time->fraction.data() + time->fraction.size() - first.data());
    std::string longer(first);
    longer.insert(at, "1");
    const auto later = semel::core::stamp_of(longer, semel::core::OrderForm::rfc3339);
    semel::core::check(!later || *semel::core::stamp_of(first, semel::core::OrderForm::rfc3339) < *later,
                       "a later time is newer");
  }
  return 0;
}
