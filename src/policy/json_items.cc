// Walks over text that is known to be JSON, so that it only has to find where a value ends.
#include "policy/json_items.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/json_scalar.h"

namespace semel::policy {
namespace {

std::size_t skip_space(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

// The place after the closing quote; `at` is the opening one.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

std::size_t skip_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  do {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
    if (depth == 0 && c != '}' && c != ']') at = std::min(text.find_first_of(",]} \t\r\n", at), text.size());
  } while (depth > 0 && at < text.size());
  return at;
}

// The value of the one member called `name` of the object at `at`.
std::expected<std::size_t, JsonMiss> member(std::string_view text, std::size_t at, std::string_view name) {
  if (at >= text.size() || text[at] != '{') return std::unexpected(JsonMiss::not_there);
  std::optional<std::size_t> found;
  at = skip_space(text, at + 1);
  while (at < text.size() && text[at] == '"') {
    const std::size_t end = skip_string(text, at);
    const std::string_view written = text.substr(at + 1, end - at - 2);
    at = skip_space(text, skip_space(text, end) + 1);
    if (written == name) {
      if (found) return std::unexpected(JsonMiss::ambiguous);
      found = at;
    } else if (written.find('\\') != std::string_view::npos) {
      return std::unexpected(JsonMiss::ambiguous);  // another spelling of the name, perhaps
    }
    at = skip_space(text, skip_value(text, at));
    if (at < text.size() && text[at] == ',') at = skip_space(text, at + 1);
  }
  if (!found) return std::unexpected(JsonMiss::not_there);
  return *found;
}

}  // namespace

std::expected<std::vector<std::string_view>, JsonMiss> json_items(std::string_view document,
                                                                  std::span<const std::string> pointer,
                                                                  std::size_t items_max) {
  if (!is_json(document)) return std::unexpected(JsonMiss::not_json);
  std::size_t at = skip_space(document, 0);
  for (const std::string& name : pointer) {
    const auto inside = member(document, at, name);
    if (!inside) return std::unexpected(inside.error());
    at = *inside;
  }
  if (at >= document.size() || document[at] != '[') return std::unexpected(JsonMiss::not_there);
  std::vector<std::string_view> items;
  at = skip_space(document, at + 1);
  while (at < document.size() && document[at] != ']' && items.size() <= items_max) {
    const std::size_t end = skip_value(document, at);
    items.push_back(document.substr(at, end - at));
    at = skip_space(document, end);
    if (at < document.size() && document[at] == ',') at = skip_space(document, at + 1);
  }
  return items;
}

std::expected<std::string_view, JsonMiss> json_member(std::string_view document, std::string_view name) {
  if (!is_json(document)) return std::unexpected(JsonMiss::not_json);
  const auto at = member(document, skip_space(document, 0), name);
  if (!at) return std::unexpected(at.error());
  return document.substr(*at, skip_value(document, *at) - *at);
}

}  // namespace semel::policy
