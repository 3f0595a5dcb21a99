// multipart/form-data (RFC 7578), read strictly.
//
// Programs disagree about bodies of this kind: which of two parts of one name counts, what a line is that only begins
// with the boundary, what stands before the first part or behind the last. What a signature was checked on must be what
// the handler reads, so a body that two programs could read differently is refused as a whole.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "policy/request_view.h"

namespace semel::policy {

inline constexpr std::size_t form_parts_max = 100;
inline constexpr std::size_t part_head_bytes_max = 1'024;

struct FormPart {
  std::string_view name;
  std::string_view content;
  bool is_file = false;  // it has the name of a file
};

// The parts in their order, no two of one name. Null if the body is anything but this: parts with nothing before,
// between or behind them, each with a name of plain letters.
std::optional<std::vector<FormPart>> multipart_form(const RequestView& request);

}  // namespace semel::policy
