// Durations, sizes and rates as people write them: "30s", "1MiB", "200/s".
//
// One whole number and one unit, nothing between or around them. The writers return a text that the readers accept, in
// the largest unit that is exact.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reading/fault.h"
#include <semel/clock.h>

namespace semel::reading {

Parsed<Millis> parse_duration(std::string_view text);  // ms, s, m, h, d
std::string duration_text(Millis duration);

Parsed<std::uint64_t> parse_bytes(std::string_view text);  // B, KiB, MiB, GiB, or a number of bytes
std::string bytes_text(std::uint64_t bytes);

inline constexpr Millis one_second{1'000};
inline constexpr Millis one_day{86'400'000};
inline constexpr std::uint64_t one_gib = 1ULL << 30U;

struct Rate {
  std::uint32_t count = 0;
  Millis per{1000};

  friend bool operator==(const Rate&, const Rate&) = default;
};

Parsed<Rate> parse_rate(std::string_view text);  // /s, /m, /h
std::string rate_text(const Rate& rate);

}  // namespace semel::reading
