// A point in time as RFC 3339 writes it, to the last digit.
//
// Taken as senders write it: a blank or `t` between date and time, `+0100` without a colon, ` UTC`, and no zone at all,
// which counts as UTC. A leap second is the first second of the next minute.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace semel::core {

struct ExactTime {
  std::int64_t seconds = 0;   // since 1970
  std::string_view fraction;  // of a second: all digits after the point
};

// Null if it is not such a text. The fraction is a part of `text`.
std::optional<ExactTime> parse_rfc3339(std::string_view text);

}  // namespace semel::core
