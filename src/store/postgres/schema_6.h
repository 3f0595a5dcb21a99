// Version 6 of the schema.
#pragma once

#include <string_view>

namespace semel::store::postgres {

extern const std::string_view batch_6;
extern const std::string_view reigns_6;
extern const std::string_view accept_6;
extern const std::string_view reclaim_6;
extern const std::string_view put_back_6;
extern const std::string_view settings_6;  // the last

}  // namespace semel::store::postgres
