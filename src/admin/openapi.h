// docs/openapi-admin.json, which describes the desk, compiled in.
#pragma once

#include <string_view>

namespace semel::admin {

std::string_view openapi_text();

}  // namespace semel::admin
