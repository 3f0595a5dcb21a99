// JSON strings in one spelling.
//
// Only the characters that must be escaped are: `\"`, `\\`, `\b`, `\t`, `\n`, `\f`, `\r`, and `\u00xx` (lower case) for
// the other control characters. Everything else is UTF-8. Two strings have the same spelling if and only if they have
// the same characters; nothing is normalised.
#pragma once

#include <string>
#include <string_view>

#include "core/json/text.h"

namespace semel::core::json {

// Reads the string whose opening quote is just before `in` and writes it to `out`, with its quotes. Refused: no end, a
// control character, an unknown escape, invalid UTF-8 or a lone surrogate.
JsonStep put_json_string(const char* in, const char* end, char* out);

// The canonical spelling of `text`, which is UTF-8, without quotes.
void append_json_spelling(std::string& out, std::string_view text);
std::string json_spelling(std::string_view text);

}  // namespace semel::core::json
