// UTF-8 as in RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace semel::core {

// The length in bytes of the well-formed character at the start of `text`, or 0 if there is none.
std::size_t utf8_character_size(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace semel::core
