// The one file that knows toml++: text to tree, with positions.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_UNRELEASED_FEATURES 0
#define TOML_MAX_NESTED_VALUES 64
#include <toml++/toml.h>

#include "policy/document.h"
#include "policy/issue.h"

namespace semel {
namespace {

Position position(const toml::source_position& from) {
  return {.line = from.line > 0 ? from.line : 1, .column = from.column > 0 ? from.column : 1};
}

Node convert(const toml::node& from);

Node convert_table(const toml::table& table) {
  Node node{.kind = NodeKind::table};
  for (const auto& [key, value] : table) {
    Node child = convert(value);
    child.name = std::string(key.str());
    child.name_at = position(key.source().begin);
    node.children.push_back(std::move(child));
  }
  return node;
}

Node convert_array(const toml::array& array) {
  Node node{.kind = NodeKind::array};
  for (const toml::node& item : array) node.children.push_back(convert(item));
  return node;
}

Node convert_scalar(const toml::node& from) {
  if (const auto* const text = from.as_string()) return {.kind = NodeKind::string, .text = **text};
  if (const auto* const number = from.as_integer()) return {.kind = NodeKind::integer, .integer = **number};
  if (const auto* const flag = from.as_boolean()) return {.kind = NodeKind::boolean, .integer = **flag ? 1 : 0};
  return {.kind = from.is_floating_point() ? NodeKind::real : NodeKind::date};
}

// The nesting is bounded by TOML_MAX_NESTED_VALUES, so the recursion is too.
Node convert(const toml::node& from) {  // NOLINT(misc-no-recursion)
  Node node = from.is_table()   ? convert_table(*from.as_table())
              : from.is_array() ? convert_array(*from.as_array())
                                : convert_scalar(from);
  node.at = position(from.source().begin);
  return node;
}

// Behind the string whose opening quote is at `i`; an open one ends with the text, or with its line if it has only one.
std::size_t behind_string(std::string_view text, std::size_t i) {
  const char quote = text[i];
  const bool many_lines = text.substr(i).starts_with(std::string(3, quote));
  const std::string end(many_lines ? 3 : 1, quote);
  for (i += end.size(); i < text.size(); ++i) {
    if (text.substr(i).starts_with(end)) return i + end.size();
    if (text[i] == '\n' && !many_lines) return i;
    if (text[i] == '\\' && quote == '"' && i + 1 < text.size() && text[i + 1] != '\n') ++i;
  }
  return text.size();
}

// The first line with more dots outside of strings than any of our tables has levels, or 0. toml++ bounds the nesting
// of values but not of dotted keys, and a tree that deep would be freed by recursion just as deep.
std::uint32_t line_nested_too_deeply(std::string_view text) {
  constexpr int dots_max = 32;
  int dots = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = behind_string(text, i);
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '\n') dots = 0;
    if (c == '.' && ++dots > dots_max) {
      return 1 + static_cast<std::uint32_t>(std::ranges::count(text.substr(0, i), '\n'));
    }
    ++i;
  }
  return 0;
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const Node& child : children) {
    if (child.name == key) return &child;
  }
  return nullptr;
}

std::string_view kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::string:
      return "a string";
    case NodeKind::integer:
      return "a whole number";
    case NodeKind::real:
      return "a number with a fraction";
    case NodeKind::boolean:
      return "true or false";
    case NodeKind::date:
      return "a date or time";
    case NodeKind::array:
      return "a list";
    case NodeKind::table:
      return "a table";
  }
  return "something else";
}

std::expected<Node, SyntaxError> parse_document(std::string_view text) {
  if (const std::uint32_t line = line_nested_too_deeply(text); line != 0) {
    return std::unexpected(SyntaxError{.at = {.line = line, .column = 1}, .message = "tables are nested too deeply"});
  }
  const toml::parse_result result = toml::parse(text);
  if (!result) {
    const toml::parse_error& error = result.error();
    return std::unexpected(
        SyntaxError{.at = position(error.source().begin), .message = std::string(error.description())});
  }
  return convert(result.table());
}

}  // namespace semel
