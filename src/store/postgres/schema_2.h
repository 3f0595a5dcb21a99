// The parts of version 2 of the schema, to be run one after the other.
#pragma once

#include <string_view>

namespace semel::store::postgres {

extern const std::string_view standing_2;
extern const std::string_view claim_2;
extern const std::string_view former_2;
extern const std::string_view ordered_2;
extern const std::string_view holders_2;
extern const std::string_view look_2;
extern const std::string_view sweep_2;
extern const std::string_view before_2;
extern const std::string_view desk_2;
extern const std::string_view audit_2;
extern const std::string_view history_2;
extern const std::string_view settings_2;

}  // namespace semel::store::postgres
