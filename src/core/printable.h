// Text that others chose, as it may go to a terminal or a log: nothing in it can move the cursor, colour what follows,
// end the line or turn it around.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace semel::core {

// Control characters (also those above 0x7f), line and paragraph ends of Unicode, characters that change the direction
// of writing, and bytes that are no UTF-8 become \xNN, byte by byte. All else stays as it is.
std::string printable(std::string_view text);

// The same of its beginning, with "..." behind it if that is not all.
std::string printable(std::string_view text, std::size_t bytes_max);

}  // namespace semel::core
