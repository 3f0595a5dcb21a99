// A TOML document as a tree with positions. The only file that knows toml++ is document.cc.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "reading/issue.h"

namespace semel::reading {

enum class NodeKind : std::uint8_t { string, integer, real, boolean, date, array, table };

struct Node {
  NodeKind kind = NodeKind::table;
  Position at{};       // of the value
  std::string name{};  // of a table's member
  Position name_at{};
  std::string text{};        // of a string
  std::int64_t integer = 0;  // of an integer; 1 for true
  std::vector<Node> children{};

  // The member called `key`, or null.
  [[nodiscard]] const Node* find(std::string_view key) const;
};

std::string_view kind_name(NodeKind kind);  // "a string", "a list"

struct SyntaxError {
  Position at;
  std::string message;
};

std::expected<Node, SyntaxError> parse_document(std::string_view text);

}  // namespace semel::reading
