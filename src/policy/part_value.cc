// One function per kind of part. A value that two programs could read differently is refused: none is picked.
#include "policy/part_value.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ascii.h"
#include "core/check.h"
#include "core/encoding.h"
#include "core/sha256.h"
#include "policy/expression.h"
#include "policy/form.h"
#include "policy/json_scalar.h"
#include "policy/request_view.h"

namespace semel::policy {
namespace {

using Value = std::expected<PartValue, PartError>;

std::unexpected<PartError> refuse(const Part& part, PartError::Kind kind, std::string_view what) {
  std::string text = part_text(part);
  std::string detail = fmt::format("{} {}.", text, what);
  return std::unexpected(PartError{.kind = kind, .part = std::move(text), .detail = std::move(detail)});
}

Value missing(const Part& part) {
  if (part.optional) return std::nullopt;
  return refuse(part, PartError::Kind::missing, "is missing from the request");
}

Value invalid(const Part& part, std::string_view what) {
  return refuse(part, PartError::Kind::invalid, what);
}

Value present(const Part& part, std::string value) {
  if (value.empty() && !part.optional) return refuse(part, PartError::Kind::empty, "is empty in the request");
  return value;
}

// The one value among several candidates; two of them would let two programs read two different requests.
Value only(const Part& part, std::span<const std::string_view> found) {
  if (found.empty()) return missing(part);
  if (found.size() > 1) return invalid(part, "occurs more than once in the request");
  return present(part, std::string(found.front()));
}

Value header_value(const Part& part, const RequestView& request) {
  std::vector<std::string_view> lines = lines_of(request.fields, part.text);
  for (std::string_view& line : lines) line = core::trimmed(line);
  return only(part, lines);
}

Value cookie_value(const Part& part, const RequestView& request) {
  std::vector<std::string_view> found;
  for (std::string_view line : lines_of(request.fields, "Cookie")) {
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(';'), line.size());
      const std::string_view pair = core::trimmed(line.substr(0, end));
      const std::size_t equals = pair.find('=');
      if (equals != std::string_view::npos && core::trimmed(pair.substr(0, equals)) == part.text) {
        found.push_back(core::trimmed(pair.substr(equals + 1)));
      }
      line.remove_prefix(std::min(line.size(), end + 1));
    }
  }
  return only(part, found);
}

// From a query or a form, which are written alike.
Value pair_value(const Part& part, std::string_view pairs) {
  std::optional<std::string> found;
  while (!pairs.empty()) {
    const std::size_t end = std::min(pairs.find('&'), pairs.size());
    const std::string_view pair = pairs.substr(0, end);
    pairs.remove_prefix(std::min(pairs.size(), end + 1));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (form_decoded(pair.substr(0, equals)) != part.text) continue;
    if (found) return invalid(part, "occurs more than once in the request");
    found = form_decoded(pair.substr(std::min(pair.size(), equals + 1)));
    if (!found) return invalid(part, "has a percent sign without two hexadecimal digits after it");
  }
  return found ? present(part, std::move(*found)) : missing(part);
}

Value form_value(const Part& part, const RequestView& request) {
  if (!is_form(request)) return missing(part);
  if (!is_small_form(request.body)) return invalid(part, "is in a form with more than 1000 fields");
  return pair_value(part, request.body);
}

Value hash_value(const Part& part, const RequestView& request) {
  if (part.text == "body") return core::to_hex(core::sha256(request.body));
  return request.signed_text.empty() ? missing(part) : core::to_hex(core::sha256(request.signed_text));
}

Value json_value(const Part& part, const RequestView& request) {
  auto value = json_scalar(json_of(request), part.pointer);
  if (value) return present(part, std::move(*value));
  switch (value.error()) {
    case JsonMiss::ambiguous:
      return invalid(part, "is ambiguous: a name on its path occurs twice in one object");
    case JsonMiss::not_json:
      if (!part.optional) return refuse(part, PartError::Kind::missing, "cannot be read: the body is not JSON");
      break;
    case JsonMiss::not_there:
      break;
  }
  return missing(part);
}

Value claim_value(const Part& part, const RequestView& request) {
  if (!request.no_claims.empty()) {
    return refuse(part, PartError::Kind::unverified, fmt::format("is not known: {}", request.no_claims));
  }
  if (request.claims.empty()) {
    if (part.optional) return std::nullopt;
    return refuse(part, PartError::Kind::unverified, "is not known: the request has no token");
  }
  auto value = json_scalar(request.claims, part.pointer);
  if (value) return present(part, std::move(*value));
  if (part.optional && value.error() == JsonMiss::not_there) return std::nullopt;
  return refuse(part, PartError::Kind::unverified, "is not in the token as one plain value");
}

}  // namespace

Value value_of(const Part& part, const RequestView& request) {
  switch (part.kind) {
    case PartKind::literal:
      return part.text;
    case PartKind::header:
      return header_value(part, request);
    case PartKind::cookie:
      return cookie_value(part, request);
    case PartKind::query:
      return pair_value(part, request.query);
    case PartKind::form:
      return form_value(part, request);
    case PartKind::sha256:
      return hash_value(part, request);
    case PartKind::json:
      return json_value(part, request);
    case PartKind::path:
      return present(part, std::string(request.path));
    case PartKind::method:
      return present(part, std::string(request.method));
    case PartKind::ip:
      return present(part, std::string(request.ip));
    case PartKind::client_cert:
      return request.client_subject.empty() ? missing(part) : present(part, std::string(request.client_subject));
    case PartKind::jwt:
      return claim_value(part, request);
    case PartKind::key:
    case PartKind::body:
    case PartKind::timestamp:
    case PartKind::url:
    case PartKind::whole_form:
    case PartKind::headers:
    case PartKind::item:
    case PartKind::token:
    case PartKind::hmac:
    case PartKind::key_id:
      break;
  }
  core::check(false, "parts that a request alone cannot tell are filled in elsewhere, such as in render_target()");
  return std::nullopt;
}

std::string join_values(std::span<const PartValue> values) {
  if (values.empty()) return {};
  const PartValue& first = values.front();
  if (values.size() == 1 && first && !first->empty() && first->front() != '\0') return *first;
  std::string joined(1, '\0');
  for (const PartValue& value : values) {
    if (value) {
      joined.append(std::to_string(value->size())).append(1, ':').append(*value);
    } else {
      joined.push_back('-');
    }
  }
  return joined;
}

}  // namespace semel::policy
