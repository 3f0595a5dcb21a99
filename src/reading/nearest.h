// "Did you mean …?": the known name that is closest to a mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace semel::reading {

// How many single letters must be changed, added, left out or swapped with their neighbour to make `b` from `a`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, if one is near enough to be what was meant (a third of its length, at least one
// letter); the first of several. Case does not count.
std::optional<std::string_view> nearest(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace semel::reading
