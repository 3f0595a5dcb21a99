// The one file that knows toml++: text to tree, with positions.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// toml++ 3.3 asserts things about its input that can be false (`[ = 1`): a build with assertions would abort, and one
// without would let the compiler assume them. With neither, it reaches its own error handling.
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_UNRELEASED_FEATURES 0
#define TOML_MAX_NESTED_VALUES 64
#include <toml++/toml.h>

#include "core/utf8.h"
#include "reading/document.h"
#include "reading/issue.h"
#include "reading/syntax_words.h"

namespace semel::reading {
namespace {

// Undoes disguised().
std::string revealed(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool moved = text[i] == '\xf3' && i + 3 < text.size() && static_cast<unsigned char>(text[i + 1]) >= 0xb0U;
    if (!moved) {
      out.push_back(text[i]);
      continue;
    }
    const std::uint32_t high = static_cast<unsigned char>(text[i + 1]) & 0x0fU;
    const std::uint32_t middle = static_cast<unsigned char>(text[i + 2]) & 0x3fU;
    if (high == 0 && middle < 0x20U) {
      out.push_back(static_cast<char>(0xc0U | middle));
    } else {
      out.push_back(static_cast<char>(0xe0U | high));
      out.push_back(static_cast<char>(0x80U | middle));
    }
    out.push_back(text[i + 3]);
    i += 3;
  }
  return out;
}

Position position(const toml::source_position& from) {
  return {.line = from.line > 0 ? from.line : 1, .column = from.column > 0 ? from.column : 1};
}

Node convert(const toml::node& from);

Node convert_table(const toml::table& table) {
  Node node{.kind = NodeKind::table};
  for (const auto& [key, value] : table) {
    Node child = convert(value);
    child.name = revealed(key.str());
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
  if (const auto* const text = from.as_string()) return {.kind = NodeKind::string, .text = revealed(**text)};
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

// Where a string ends whose opening quote is at `begin`: after its last quote, or where toml++ will give up on it.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const bool many_lines = text.substr(begin).starts_with(std::string(3, quote));
  const std::string end(many_lines ? 3 : 1, quote);
  for (std::size_t i = begin + end.size(); i < text.size(); ++i) {
    if (text.substr(i).starts_with(end)) {
      i += end.size();
      // Up to two more quotes belong to a string that ends in three.
      for (int more = 0; many_lines && more < 2 && i < text.size() && text[i] == quote; ++more) ++i;
      return i;
    }
    if (text[i] == '\n' && !many_lines) return i;
    if (text[i] == '\\' && quote == '"' && i + 1 < text.size() && text[i + 1] != '\n') ++i;
  }
  return text.size();
}

SyntaxError error_at(std::string_view text, std::size_t offset, std::string message) {
  const std::string_view before = text.substr(0, offset);
  const std::string_view line = before.substr(before.find_last_of('\n') + 1);  // npos + 1 is 0
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
  return {.at = {.line = 1 + static_cast<std::uint32_t>(std::ranges::count(before, '\n')),
                 .column = 1 + static_cast<std::uint32_t>(line.size()) -
                           static_cast<std::uint32_t>(std::ranges::count_if(line, continues))},
          .message = std::move(message)};
}

// toml++ bounds the nesting of values but not of dotted keys: a tree of thousands of levels would be freed by recursion
// just as deep. So the number of dots in a line, outside of strings and comments, is limited.
std::optional<SyntaxError> nested_too_deeply(std::string_view text) {
  constexpr int dots_max = 32;
  int dots = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = end_of_string(text, i);
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '\n') dots = 0;
    if (c == '.' && ++dots > dots_max) return error_at(text, i, "tables are nested too deeply");
    ++i;
  }
  return std::nullopt;
}

// Of U+0080 to U+FFFF: three or four bytes for two or three. `text` begins with a character of that range.
std::uint32_t code_point(std::string_view text) {
  const auto bits = [&](std::size_t at, std::uint32_t mask) { return static_cast<unsigned char>(text[at]) & mask; };
  return text.size() == 2 ? (bits(0, 0x1fU) << 6U) | bits(1, 0x3fU)
                          : (bits(0, 0x0fU) << 12U) | (bits(1, 0x3fU) << 6U) | bits(2, 0x3fU);
}

// toml++ 3.3 has undefined behaviour with some letters (é, か) wherever it asks whether they are white space. Those
// above U+FFFF are safe, so every character of the basic plane is moved to plane 15 for it, which has no characters of
// its own. Columns stay as they are.
std::expected<std::string, SyntaxError> disguised(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = core::utf8_character_size(text.substr(i));
    const std::string_view character = text.substr(i, size);
    if (size == 0) return std::unexpected(error_at(text, i, "the file is not UTF-8"));
    const bool plane_15 = character >= "\xf3\xb0\x80\x80" && character <= "\xf3\xbf\xbf\xbf";
    if ((size == 4 && plane_15) || text.substr(i).starts_with("\\U000F") || text.substr(i).starts_with("\\U000f")) {
      return std::unexpected(error_at(text, i, "characters for private use are not used here"));
    }
    if (size == 1 || size == 4) {
      out.append(character);
    } else {
      const std::uint32_t code = code_point(character);
      out.push_back('\xf3');
      out.push_back(static_cast<char>(0xb0U | (code >> 12U)));
      out.push_back(static_cast<char>(0x80U | ((code >> 6U) & 0x3fU)));
      out.push_back(static_cast<char>(0x80U | (code & 0x3fU)));
    }
    i += size;
  }
  return out;
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
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  if (auto error = nested_too_deeply(text)) return std::unexpected(std::move(*error));
  const auto shown = disguised(text);
  if (!shown) return std::unexpected(shown.error());
  const toml::parse_result result = toml::parse(std::string_view(*shown));
  if (!result) {
    const toml::parse_error& error = result.error();
    return std::unexpected(
        SyntaxError{.at = position(error.source().begin), .message = syntax_words(revealed(error.description()))});
  }
  return convert(result.table());
}

}  // namespace semel::reading
