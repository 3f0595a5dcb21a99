// In the text of a body that was parsed first: each value that a pointer leads to is cut out where it stands, so a
// member is hidden however its name is spelled and however often it is there, and nothing else changes.
#include "admin/redact.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/parse_options.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/system/error_code.hpp>

#include "core/ascii.h"
#include "core/encoding.h"
#include "core/json/view.h"
#include "core/json/writer.h"
#include "core/utf8.h"
#include "gateway/parcel.h"
#include <semel/fingerprint.h>
#include <semel/response.h>

namespace semel::admin {
namespace {

using core::json::JsonView;

constexpr std::string_view hidden_text = "[redacted]";
constexpr std::string_view hidden_whole = "[redacted: it cannot be looked into, and parts are to be hidden]";
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::size_t depth_max = 1'000;

using Paths = std::vector<const std::vector<std::string>*>;

bool names(const std::string& token, std::size_t element) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  return error == std::errc() && end == token.data() + token.size() && index == element;
}

// The values that pointers lead to, in the order of the text; none is inside another.
class Search {
 public:
  explicit Search(std::vector<JsonView>& found) : found_(found) {}

  // As deep as the longest pointer. `paths` lead to `value` by their first `depth` tokens.
  void look(JsonView value, const Paths& paths, std::size_t depth) {
    if (paths.empty()) return;
    const auto step = [&](JsonView inner, auto leads) {
      Paths further;
      for (const std::vector<std::string>* const path : paths) {
        if (!leads((*path)[depth])) continue;
        if (path->size() == depth + 1) {
          found_.push_back(inner);
          return true;
        }
        further.push_back(path);
      }
      look(inner, further, depth + 1);
      return true;
    };
    if (value.kind() == JsonView::Kind::object) {
      value.members([&](std::string_view name, JsonView inner) {
        return step(inner, [&](const std::string& token) { return token == name; });
      });
    } else if (value.kind() == JsonView::Kind::array) {
      std::size_t element = 0;
      value.elements([&](JsonView inner) {
        const std::size_t index = element++;
        return step(inner, [&](const std::string& token) { return names(token, index); });
      });
    }
  }

 private:
  std::vector<JsonView>& found_;
};

// Strict JSON in UTF-8. What else a lenient reader takes for JSON is for it to know, and to be hidden.
bool is_json(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = depth_max;
  boost::system::error_code error;
  static_cast<void>(boost::json::parse(text, error, boost::json::storage_ptr(), options));
  return !error && core::is_utf8(text);
}

// The one line of the field; none if there is none, or several.
std::optional<std::string_view> only_line(const Response& response, std::string_view name) {
  std::optional<std::string_view> found;
  for (const Field& field : response.fields) {
    if (!core::equal_ignoring_case(field.name, name)) continue;
    if (found) return std::nullopt;
    found = field.value;
  }
  return found;
}

// Compressed bodies are stored as they came.
bool is_encoded(const Response& response) {
  return std::ranges::any_of(response.fields, [](const Field& field) {
    return core::equal_ignoring_case(field.name, "Content-Encoding") &&
           !core::equal_ignoring_case(field.value, "identity");
  });
}

// Whether a body that is no JSON cannot hold any either: its kind is known and another one, it is text, and there is
// nothing in it that begins an object or an array, as it is or as a form spells it. What is compressed, in another
// encoding, behind a mark or inside a call is none of that.
bool holds_no_json(const Response& response) {
  const std::optional<std::string_view> line = only_line(response, "Content-Type");
  const std::string type = core::to_lower(core::trimmed(line.value_or("")));
  if (type.empty() || type.contains("json") || type.contains("javascript")) return false;
  const std::string text = core::to_lower(response.body);
  const bool plain =
      std::ranges::none_of(text, [](char c) { return core::is_control(c) && c != '\t' && c != '\r' && c != '\n'; });
  if (!plain || !core::is_utf8(text)) return false;
  return !text.contains('{') && !text.contains('[') && !text.contains("%7b") && !text.contains("%5b");
}

struct Redaction {
  std::string shown;
  bool whole = false;           // nothing of the body is shown
  std::vector<JsonView> parts;  // those that are hidden, in the body
};

Redaction redaction_of(const Response& response, const IgnoreList& pointers) {
  Redaction made;
  const std::string_view body = response.body;
  std::string_view text = body;
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const bool open = pointers.empty() || body.empty();
  const bool readable = !open && !is_encoded(response) && is_json(text);
  if (!open && !readable && (is_encoded(response) || !holds_no_json(response))) {
    made.whole = true;
    made.shown = hidden_whole;
    return made;
  }
  if (readable) {
    Paths paths;
    for (const std::vector<std::string>& path : pointers.paths()) paths.push_back(&path);
    Search(made.parts).look(JsonView(text), paths, 0);
  }
  std::size_t shown_to = 0;
  for (const JsonView& part : made.parts) {
    const auto begin = static_cast<std::size_t>(part.raw().data() - body.data());
    made.shown.append(body.substr(shown_to, begin - shown_to)).append("\"").append(hidden_text).append("\"");
    shown_to = begin + part.raw().size();
  }
  made.shown.append(body.substr(shown_to));
  return made;
}

// Whether `text` holds a value of `part`, or the name of a member in it.
bool holds_value(std::string_view text, JsonView part) {
  std::string_view rest = part.raw();
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of("{}[],: \t\r\n"), rest.size()));
    if (rest.empty()) return false;
    const JsonView value(rest);
    const std::string plain = value.kind() == JsonView::Kind::string ? value.text() : std::string(value.raw());
    if (!plain.empty() && text.contains(plain)) return true;
    rest.remove_prefix(value.raw().size());
  }
}

// What was taken from the body is hidden where the body's own is.
std::string_view value_beside(const Field& field, const Redaction& made) {
  const bool hidden =
      gateway::is_from_body(field.name) && !field.value.empty() &&
      (made.whole || std::ranges::any_of(made.parts, [&](JsonView part) { return holds_value(field.value, part); }));
  return hidden ? hidden_text : shown_value(field);
}

}  // namespace

std::string_view shown_value(const Field& field) {
  const bool hidden = gateway::is_credential(field.name) || core::equal_ignoring_case(field.name, "Set-Cookie");
  return hidden ? hidden_text : std::string_view(field.value);
}

void write_shown(core::json::JsonWriter& json, const Response& response, const IgnoreList& pointers) {
  const Redaction made = redaction_of(response, pointers);
  json.name("fields").begin_array();
  for (const Field& field : response.fields) {
    json.begin_object().bytes("name", field.name).bytes("value", value_beside(field, made)).end_object();
  }
  const bool hides = made.whole || !made.parts.empty();
  json.end_array().text("body_base64", core::to_base64(made.shown)).boolean("redacted", hides);
}

}  // namespace semel::admin
