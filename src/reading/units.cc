// A number and a unit. The tables are the units; everything else is the same for all three readers.
#include "reading/units.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/ascii.h"
#include "reading/fault.h"
#include <semel/clock.h>

namespace semel::reading {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t size;
};

// Ascending, so that the last one that divides a value is the largest.
constexpr std::array durations{Unit{"ms", 1}, Unit{"s", 1'000}, Unit{"m", 60'000}, Unit{"h", 3'600'000},
                               Unit{"d", 86'400'000}};
constexpr std::array sizes{Unit{"B", 1}, Unit{"KiB", 1ULL << 10U}, Unit{"MiB", 1ULL << 20U}, Unit{"GiB", 1ULL << 30U}};
constexpr std::array rates{Unit{"/s", 1'000}, Unit{"/m", 60'000}, Unit{"/h", 3'600'000}};

// What people write instead of our units; suggested, never accepted.
using Alias = std::pair<std::string_view, std::string_view>;
constexpr std::array duration_aliases{
    Alias{"sec", "s"},   Alias{"secs", "s"},   Alias{"second", "s"},  Alias{"seconds", "s"}, Alias{"min", "m"},
    Alias{"mins", "m"},  Alias{"minute", "m"}, Alias{"minutes", "m"}, Alias{"hr", "h"},      Alias{"hour", "h"},
    Alias{"hours", "h"}, Alias{"day", "d"},    Alias{"days", "d"},    Alias{"msec", "ms"},   Alias{"millis", "ms"}};
constexpr std::array size_aliases{Alias{"k", "KiB"},  Alias{"kb", "KiB"}, Alias{"ki", "KiB"}, Alias{"m", "MiB"},
                                  Alias{"mb", "MiB"}, Alias{"mi", "MiB"}, Alias{"g", "GiB"},  Alias{"gb", "GiB"},
                                  Alias{"gi", "GiB"}, Alias{"byte", "B"}, Alias{"bytes", "B"}};
constexpr std::array rate_aliases{Alias{"/sec", "/s"}, Alias{"/second", "/s"}, Alias{"/min", "/m"},
                                  Alias{"/minute", "/m"}, Alias{"/hour", "/h"}};

struct Kind {
  std::string_view what;      // "duration"
  std::string_view examples;  // in words
  std::span<const Unit> units;
  std::span<const Alias> aliases;
};

const Kind duration_kind{"a duration", "write a whole number and ms, s, m, h or d, such as \"30s\"", durations,
                         duration_aliases};
const Kind size_kind{"a size", "write a number of bytes, or one with B, KiB, MiB or GiB, such as \"1MiB\"", sizes,
                     size_aliases};
const Kind rate_kind{"a rate", "write a whole number and /s, /m or /h, such as \"200/s\"", rates, rate_aliases};

// The spelling that was probably meant: the same number with the unit that this one resembles.
std::string suggest(const Kind& kind, std::string_view text) {
  const std::string_view value = core::trimmed(text);
  const std::size_t digits = value.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return {};
  const std::string_view written = core::trimmed(value.substr(digits));
  for (const Unit& unit : kind.units) {
    if (core::equal_ignoring_case(unit.name, written)) return fmt::format("{}{}", value.substr(0, digits), unit.name);
  }
  for (const auto& [alias, unit] : kind.aliases) {
    if (core::equal_ignoring_case(alias, written)) return fmt::format("{}{}", value.substr(0, digits), unit);
  }
  return {};
}

struct Quantity {
  std::uint64_t number;
  std::uint64_t unit;
};

Parsed<Quantity> parse_quantity(const Kind& kind, std::string_view text) {
  Quantity quantity{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quantity.number);
  const auto complain = [&] {
    return fault(fmt::format("\"{}\" is not {}; {}", text, kind.what, kind.examples), suggest(kind, text));
  };
  if (error == std::errc::result_out_of_range) return fault(fmt::format("\"{}\" is too large", text));
  if (error != std::errc{}) return complain();
  const std::string_view written = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : kind.units) {
    if (unit.name == written) quantity.unit = unit.size;
  }
  if (quantity.unit == 0) return complain();
  if (quantity.number > std::numeric_limits<std::int64_t>::max() / quantity.unit) {
    return fault(fmt::format("\"{}\" is too large", text));
  }
  return quantity;
}

std::string quantity_text(std::span<const Unit> units, std::uint64_t value) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (value % unit.size == 0) best = &unit;
  }
  return fmt::format("{}{}", value / best->size, best->name);
}

}  // namespace

Parsed<Millis> parse_duration(std::string_view text) {
  const auto quantity = parse_quantity(duration_kind, text);
  if (!quantity) return std::unexpected(quantity.error());
  return Millis{static_cast<std::int64_t>(quantity->number * quantity->unit)};
}

std::string duration_text(Millis duration) {
  return duration == Millis{0} ? "0s" : quantity_text(durations, static_cast<std::uint64_t>(duration.count()));
}

Parsed<std::uint64_t> parse_bytes(std::string_view text) {
  const bool bare = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  const auto quantity = parse_quantity(size_kind, bare ? std::string(text) + "B" : std::string(text));
  if (!quantity) return std::unexpected(quantity.error());
  return quantity->number * quantity->unit;
}

std::string bytes_text(std::uint64_t bytes) {
  return bytes == 0 ? "0" : quantity_text(sizes, bytes);
}

Parsed<Rate> parse_rate(std::string_view text) {
  const auto quantity = parse_quantity(rate_kind, text);
  if (!quantity) return std::unexpected(quantity.error());
  if (quantity->number == 0) return fault("a rate of 0 would refuse everything");
  if (quantity->number > std::numeric_limits<std::uint32_t>::max()) {
    return fault(fmt::format("\"{}\" is too large", text));
  }
  return Rate{.count = static_cast<std::uint32_t>(quantity->number),
              .per = Millis{static_cast<std::int64_t>(quantity->unit)}};
}

std::string rate_text(const Rate& rate) {
  for (const Unit& unit : rates) {
    if (unit.size == static_cast<std::uint64_t>(rate.per.count())) return fmt::format("{}{}", rate.count, unit.name);
  }
  return fmt::format("{}/{}", rate.count, duration_text(rate.per));
}

}  // namespace semel::reading
