// Stamps tell which of two events of one object is newer. The order of their bytes is the order of the stamps, so a
// store compares bytes and knows nothing about numbers or dates.
//
//   number    any decimal, exactly: 2^53 < 2^53 + 1, 9 < 10, -2 < -1.5, 1e3 = 1000, "007" = 7
//   rfc3339   to the last digit of the second, whatever the zone: 10:00:00.1+02:00 < 08:00:00.15Z
//   text      as it stands: identifiers that sort (ULID, UUIDv7, counters of fixed width)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace semel::core {

enum class OrderForm : std::uint8_t { number, rfc3339, text };

// Null if the text is empty, over 1,000 bytes, or not of that form.
std::optional<std::string> stamp_of(std::string_view text, OrderForm form);

}  // namespace semel::core
