// application/x-www-form-urlencoded, as in a query and in the body of a form.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace semel::policy {

// `+` is a space, `%XX` a byte. Null if there is a percent sign without two digits.
std::optional<std::string> form_decoded(std::string_view text);

// A stranger can send a form of half a million fields at little cost; no sender needs that many.
inline constexpr std::size_t form_pairs_max = 1'000;

// Whether a form has at most so many pairs, counting empty ones, but for one at the end.
bool is_small_form(std::string_view text);

// Name and value of each pair, decoded, in the order in which they came; empty pairs (`&&`) are left out. Null if there
// is a percent sign without two digits anywhere, or if it is not a small form.
using FormPairs = std::vector<std::pair<std::string, std::string>>;
std::optional<FormPairs> form_pairs(std::string_view text);

}  // namespace semel::policy
