// A request as the rules see it: views into the bytes that arrived, nothing decoded.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/ascii.h"
#include "core/field_view.h"

namespace semel::policy {

struct RequestView {
  std::string_view method;
  std::string_view target;  // path and query, without scheme or authority
  std::string_view path;    // of the target
  std::string_view query;   // after the `?`
  std::span<const FieldView> fields;
  std::string_view body;
  std::string_view ip;                   // of the peer, as text
  std::string_view client_subject = {};  // of the peer's certificate; empty if none was verified
  std::string_view signed_text = {};     // of a webhook's delivery: the bytes whose signature was verified
};

// Sets target, path and query.
constexpr void set_target(RequestView& request, std::string_view target) {
  const std::size_t mark = target.find('?');
  request.target = target;
  request.path = target.substr(0, mark);
  request.query = mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
}

// Every line of a field, in the order in which they came. Names are compared without regard to case.
inline std::vector<std::string_view> lines_of(std::span<const FieldView> fields, std::string_view name) {
  std::vector<std::string_view> lines;
  for (const FieldView& field : fields) {
    if (core::equal_ignoring_case(field.name, name)) lines.push_back(field.value);
  }
  return lines;
}

// Whether the body is a form, as its Content-Type says.
inline bool is_form(const RequestView& request) {
  const std::vector<std::string_view> types = lines_of(request.fields, "Content-Type");
  if (types.size() != 1) return false;
  const std::string_view type = types.front().substr(0, types.front().find(';'));
  return core::equal_ignoring_case(core::trimmed(type), "application/x-www-form-urlencoded");
}

}  // namespace semel::policy
