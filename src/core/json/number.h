// JSON numbers as exact decimals in one spelling: `-`, digits, `e` exponent.
//
// The digits neither begin nor end with a zero and the exponent is left out when it is 0, so every value has exactly
// one spelling: 1.0 and 10e-1 are `1`, 100 is `1e2`, 0.25 is `25e-2`. Zero is `0` or `-0` (some programs tell them
// apart). No binary floating point: 2^53 and 2^53 + 1 are two numbers.
#pragma once

#include <cstdint>

#include "core/json/text.h"

namespace semel::core::json {

// Beyond it a number has no canonical form: programs disagree on whether it is infinite, zero or an error.
inline constexpr std::int64_t json_exponent_max = 9'999;

// Reads the number that begins at `in`, which is not `end`, and writes it to `out`. Refused: not a number, or an
// exponent out of bounds.
JsonStep put_json_number(const char* in, const char* end, char* out);

}  // namespace semel::core::json
