// What is wrong with a file that is no TOML, in the words of somebody who writes one.
#pragma once

#include <string>
#include <string_view>

namespace semel::reading {

// `description` is what the parser of TOML says. What is not known here is repeated as it is.
std::string syntax_words(std::string_view description);

}  // namespace semel::reading
