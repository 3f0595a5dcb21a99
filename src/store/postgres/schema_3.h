// The parts of version 3 of the schema, to be run one after the other: the inbox.
#pragma once

#include <string_view>

namespace semel::store::postgres {

extern const std::string_view inbox_3;
extern const std::string_view lines_3;
extern const std::string_view accept_3;
extern const std::string_view turns_3;
extern const std::string_view settle_3;
extern const std::string_view adopt_3;
extern const std::string_view inbox_audit_3;
extern const std::string_view inbox_desk_3;
extern const std::string_view inbox_sweep_3;
extern const std::string_view settings_3;

}  // namespace semel::store::postgres
