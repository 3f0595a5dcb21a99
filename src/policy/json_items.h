// The elements of an array in a JSON document, as they are written: a batch of events, taken apart.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/json_scalar.h"

namespace semel::policy {

// The text of each element. `pointer` leads to the array, through objects only; an empty one means the whole document.
// The document is validated as a whole first. If there are more than `items_max`, it returns one more than that.
std::expected<std::vector<std::string_view>, JsonMiss> json_items(std::string_view document,
                                                                  std::span<const std::string> pointer,
                                                                  std::size_t items_max);

// The document is an object: the value of its one member of that name, as it is written.
std::expected<std::string_view, JsonMiss> json_member(std::string_view document, std::string_view name);

}  // namespace semel::policy
