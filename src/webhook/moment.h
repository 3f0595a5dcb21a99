// Moments as providers write them: seconds or milliseconds since 1970, or RFC 3339 with any number of fractions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <semel/clock.h>

namespace semel::webhook {

enum class MomentForm : std::uint8_t { seconds, millis, rfc3339 };

// Null if it is not a moment in this form. Numbers are digits only, at most 15 of them. Fractions of a millisecond are
// cut off.
std::optional<Time> parse_moment(std::string_view text, MomentForm form);

}  // namespace semel::webhook
