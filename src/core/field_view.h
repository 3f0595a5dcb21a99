// One header field, as views into the bytes that arrived.
#pragma once

#include <string_view>

namespace semel {

struct FieldView {
  std::string_view name;
  std::string_view value;
};

}  // namespace semel
