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
  std::string_view claims = {};          // of the caller's token, as JSON; empty if none was verified
  std::string_view no_claims = {};       // why a token that came does not count; empty if none came
  std::string_view signed_text = {};     // of a webhook's delivery: the bytes whose signature was verified
  std::string_view json_part = {};       // of a webhook's delivery whose JSON is a part of a form; null: the body is
};

// Where {json:} looks.
inline std::string_view json_of(const RequestView& request) {
  return request.json_part.data() == nullptr ? request.body : request.json_part;
}

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

// The type of the body without its parameters, as Content-Type says; empty unless that is there exactly once.
inline std::string_view media_type_of(const RequestView& request) {
  const FieldView* found = nullptr;
  for (const FieldView& field : request.fields) {
    if (!core::equal_ignoring_case(field.name, "Content-Type")) continue;
    if (found != nullptr) return {};
    found = &field;
  }
  return found == nullptr ? std::string_view() : core::trimmed(found->value.substr(0, found->value.find(';')));
}

inline bool is_form(const RequestView& request) {
  return core::equal_ignoring_case(media_type_of(request), "application/x-www-form-urlencoded");
}

// application/json, or a type that is written as JSON (RFC 6839: application/problem+json).
inline bool is_json(const RequestView& request) {
  constexpr std::string_view suffix = "+json";
  const std::string_view type = media_type_of(request);
  if (core::equal_ignoring_case(type, "application/json") || core::equal_ignoring_case(type, "text/json")) return true;
  return type.size() > suffix.size() && core::equal_ignoring_case(type.substr(type.size() - suffix.size()), suffix);
}

}  // namespace semel::policy
