// Version 5 of the schema. Each part stands in a file of its own; schema_5.cc is the list of them.
#pragma once

#include <span>
#include <string_view>

namespace semel::store::postgres {

extern const std::string_view begins_5;
extern const std::string_view take_5;
extern const std::string_view sweep_5;
extern const std::string_view settings_5;  // the last

// To be run one after the other.
std::span<const std::string_view> parts_5();

}  // namespace semel::store::postgres
