// The parts of version 1 of the schema, to be run one after the other.
#pragma once

#include <string_view>

namespace semel::store::postgres {

extern const std::string_view tables_1;
extern const std::string_view objects_1;
extern const std::string_view identity_1;
extern const std::string_view await_1;

}  // namespace semel::store::postgres
