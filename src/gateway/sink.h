// Fields that the rules choose, straight into the head that is being written.
#pragma once

#include <string_view>

#include "http/writer.h"

namespace semel::gateway {

inline auto into(http::HeadWriter& out) {
  return [&out](std::string_view name, std::string_view value) { out.field(name, value); };
}

}  // namespace semel::gateway
