// The elements of an array in a JSON document, as they are written: a batch of events, taken apart.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/json_scalar.h"

namespace semel {

// Where each element stands. `pointer` leads to the array, through objects only; an empty one means the whole document.
// The document is validated as a whole first.
std::expected<std::vector<std::string_view>, JsonMiss> json_items(std::string_view document,
                                                                  std::span<const std::string> pointer);

}  // namespace semel
