// Members one by one, then what they make together.
#include "api/result.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/pointer.h"
#include "api/trouble.h"
#include "core/ascii.h"
#include "core/encoding.h"
#include "core/field_view.h"
#include "core/json/view.h"
#include "core/json/writer.h"
#include "policy/fields.h"
#include "policy/json_scalar.h"
#include "policy/keep.h"
#include "policy/request_view.h"
#include <semel/response.h>

namespace semel::api {
namespace {

using core::json::JsonView;

constexpr std::string_view type_field = "Content-Type";
constexpr std::size_t line_bytes = 4;  // around a field in a message: a colon, a space, the end of the line

// What has been read of a result so far.
struct Draft {
  std::optional<std::uint16_t> status;
  std::optional<std::string> type;
  std::vector<Field> fields;
  std::optional<std::string> json;
  std::optional<std::string> bytes;
};

// HTTP carries bytes, and JSON characters: each byte of a field is the character of that number, as in the answers.
std::optional<std::string> one_byte_each(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80) {
      bytes.push_back(text[at]);
      continue;
    }
    if (lead > 0xc3 || at + 1 == text.size()) return std::nullopt;  // a character above U+00FF
    ++at;
    bytes.push_back(static_cast<char>(((lead & 0x03U) << 6U) | (static_cast<unsigned char>(text[at]) & 0x3fU)));
  }
  return bytes;
}

Checked add_field(Draft& draft, std::string_view name, JsonView value, const std::string& at) {
  if (value.kind() != JsonView::Kind::string)
    return std::unexpected(invalid(at, "A field is a string, or a list of them."));
  const std::optional<std::string> text = one_byte_each(value.text());
  if (!policy::is_field_name(name)) return std::unexpected(invalid(at, "This is not the name of a field of HTTP."));
  if (!text || !policy::is_field_value(*text)) {
    return std::unexpected(invalid(at, "The value of a field has no control characters, and no space at its ends."));
  }
  if (core::equal_ignoring_case(name, type_field)) {
    return std::unexpected(invalid(at, "Content-Type is the member content_type, not one of headers."));
  }
  draft.fields.push_back({.name = std::string(name), .value = *text});
  return {};
}

Checked read_headers(Draft& draft, JsonView value, const std::string& at) {
  if (value.kind() != JsonView::Kind::object) {
    return std::unexpected(invalid(at, "headers is an object: a string, or a list of strings, by name."));
  }
  Checked read;
  value.members([&](std::string_view name, JsonView each) {
    const std::string place = at + "/" + escaped_token(name);
    if (each.kind() != JsonView::Kind::array) {
      read = add_field(draft, name, each, place);
      return read.has_value();
    }
    each.elements([&](JsonView line) {
      read = add_field(draft, name, line, place);
      return read.has_value();
    });
    return read.has_value();
  });
  return read;
}

Checked read_member(Draft& draft, std::string_view name, JsonView value, const std::string& at) {
  if (name == "status") {
    const std::optional<std::int64_t> status = value.whole();
    if (!status || *status < 200 || *status > 599)
      return std::unexpected(invalid(at, "status is a number from 200 to 599."));
    draft.status = static_cast<std::uint16_t>(*status);
  } else if (name == "content_type") {
    if (value.kind() != JsonView::Kind::string) return std::unexpected(invalid(at, "content_type is a string."));
    draft.type = value.text();
    if (draft.type->empty() || !policy::is_field_value(*draft.type)) {
      return std::unexpected(invalid(at, "content_type is a media type, such as \"text/plain\"."));
    }
  } else if (name == "headers") {
    return read_headers(draft, value, at);
  } else if (name == "body") {
    draft.json = std::string(value.raw());
  } else if (name == "body_base64") {
    if (value.kind() == JsonView::Kind::string) draft.bytes = core::from_base64(value.text());
    if (!draft.bytes) return std::unexpected(invalid(at, "body_base64 is a string of base64, without white space."));
  } else {
    return std::unexpected(
        invalid(at, "A result has the members status, content_type, headers, and body or body_base64; no others."));
  }
  return {};
}

bool is_json(const Response& response) {
  std::vector<FieldView> views;
  views.reserve(response.fields.size());
  for (const Field& field : response.fields) views.push_back({.name = field.name, .value = field.value});
  policy::RequestView message;
  message.fields = views;
  return policy::is_json(message) && policy::is_json(response.body);
}

}  // namespace

std::expected<SharedResponse, Trouble> read_result(JsonView value, const std::string& pointer,
                                                   const ResultRules& rules) {
  if (value.kind() != JsonView::Kind::object) return std::unexpected(invalid(pointer, "result is an object."));
  Draft draft;
  Checked read;
  std::vector<std::string> seen;
  value.members([&](std::string_view name, JsonView member) {
    const std::string at = pointer + "/" + escaped_token(name);
    if (std::ranges::find(seen, name) != seen.end())
      read = std::unexpected(invalid(at, "This member stands there twice."));
    seen.emplace_back(name);
    if (read) read = read_member(draft, name, member, at);
    return read.has_value();
  });
  if (!read) return std::unexpected(std::move(read.error()));
  if (draft.json && draft.bytes) {
    return std::unexpected(invalid(pointer + "/body_base64", "A result has body or body_base64, not both."));
  }
  const bool is_text = draft.json.has_value();
  const bool has_body = is_text || draft.bytes;
  const std::string body = draft.json ? *std::move(draft.json) : draft.bytes.value_or("");
  if (has_body && body.size() > rules.store_body_max) {
    return std::unexpected(too_large(pointer + (is_text ? "/body" : "/body_base64"),
                                     "The body is over limits.store_body_max. The claim stands: complete it with a "
                                     "smaller result."));
  }
  std::vector<FieldView> views;
  std::string type = draft.type.value_or("");
  if (type.empty() && is_text) type = "application/json";
  if (!type.empty()) views.push_back({.name = type_field, .value = type});
  for (const Field& field : draft.fields) views.push_back({.name = field.name, .value = field.value});
  std::size_t head_bytes = 0;
  for (const FieldView& field : views) head_bytes += field.name.size() + field.value.size() + line_bytes;
  if (head_bytes > rules.head_bytes_max) {
    return std::unexpected(too_large(
        pointer + "/headers", "The fields are over limits.header_bytes. The claim stands: complete it with fewer."));
  }
  const policy::KeepTerms terms{
      .store_body_max = rules.store_body_max, .replay_fields = {}, .replayed_header = rules.replayed_header};
  const std::uint16_t status = draft.status.value_or(has_body ? 200 : 204);
  return std::make_shared<const Response>(policy::to_keep(status, views, body, terms));
}

SharedResponse empty_result() {
  static const SharedResponse empty =
      std::make_shared<const Response>(Response{.status = 204, .fields = {}, .body = {}});
  return empty;
}

void write_result(core::json::JsonWriter& json, const Response& response) {
  json.begin_object().number("status", response.status);
  std::map<std::string, std::vector<std::string_view>> headers;  // by their names in small letters
  for (const Field& field : response.fields) {
    if (core::equal_ignoring_case(field.name, type_field)) {
      json.latin_1("content_type", field.value);
    } else {
      headers[core::to_lower(field.name)].push_back(field.value);
    }
  }
  if (!headers.empty()) {
    json.name("headers").begin_object();
    for (const auto& [name, values] : headers) {
      json.escaped_name(name);
      if (values.size() == 1) {
        json.latin_1(values.front());
        continue;
      }
      json.begin_array();
      for (const std::string_view value : values) json.latin_1(value);
      json.end_array();
    }
    json.end_object();
  }
  if (!response.body.empty()) {
    if (is_json(response)) json.name("body").verbatim(response.body);
    json.text("body_base64", core::to_base64(response.body));
  }
  if (!response.body_kept) json.boolean("body_kept", false);
  json.end_object();
}

}  // namespace semel::api
