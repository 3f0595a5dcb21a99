// A query is read as words: enough to say what is missing, and no parser of SQL.
#include "config/query_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ascii.h"

namespace semel::config {
namespace {

struct QueryWord {
  std::string text;  // in lower case
  std::size_t offset = 0;
};

bool is_word(char c) {
  return core::is_letter(c) || core::is_digit(c) || c == '_' || c == '$';
}

// Behind what begins at `at` and ends with `end`; the end of the text if it never ends.
std::size_t behind(std::string_view text, std::size_t at, std::string_view end) {
  const std::size_t found = text.find(end, at);
  return found == std::string_view::npos ? text.size() : found + end.size();
}

// The words of a query, and its semicolons. Quoted names are words; strings and comments are none.
std::vector<QueryWord> words_of(std::string_view text) {
  std::vector<QueryWord> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("--")) {
      at = behind(text, at, "\n");
    } else if (rest.starts_with("/*")) {
      at = behind(text, at + 2, "*/");
    } else if (rest.front() == '\'') {
      at = behind(text, at + 1, "'");
    } else if (rest.front() == '"') {
      const std::size_t end = behind(text, at + 1, "\"");
      words.push_back({.text = std::string(text.substr(at + 1, end - at - 2)), .offset = at});
      at = end;
    } else if (is_word(rest.front())) {
      const std::size_t length = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_word) - rest.begin());
      words.push_back({.text = core::to_lower(rest.substr(0, length)), .offset = at});
      at += length;
    } else {
      if (rest.front() == ';') words.push_back({.text = ";", .offset = at});
      ++at;
    }
  }
  return words;
}

bool has(const std::vector<QueryWord>& words, std::string_view word) {
  return std::ranges::find(words, word, &QueryWord::text) != words.end();
}

}  // namespace

bool query_has_word(std::string_view query, std::string_view word) {
  return has(words_of(query), word);
}

std::optional<QueryFault> fault_of_query(std::string_view query, bool scoped) {
  const std::vector<QueryWord> words = words_of(query);
  const auto fault = [](std::size_t at, std::string message) {
    return QueryFault{.offset = at, .message = std::move(message)};
  };
  if (words.empty()) return fault(0, "query is empty");
  if (words.front().text != "select" && words.front().text != "with") {
    return fault(words.front().offset, "query must read: it begins with SELECT or WITH");
  }
  constexpr std::array<std::string_view, 4> writing{"insert", "update", "delete", "merge"};
  for (const QueryWord& word : words) {
    if (std::ranges::find(writing, word.text) != writing.end()) {
      return fault(word.offset, fmt::format("query must only read, and it has the word {}", word.text));
    }
    if (word.text == ";" && &word != &words.back()) return fault(word.offset, "query must be one statement");
  }
  if (!has(words, "$1")) {
    return fault(0, "query needs $1, the keys that are asked about: WHERE key = ANY($1)");
  }
  for (const std::string_view column : {"key", "status", "body"}) {
    if (!has(words, column)) {
      return fault(0, fmt::format("query needs the columns key, status and body, and has no {0}: name it with "
                                  "AS {0}",
                                  column));
    }
  }
  if (scoped && !has(words, "scope")) {
    return fault(0,
                 "query needs the column scope, because the route has one: else the answer of one tenant could be "
                 "given to another; name it with AS scope");
  }
  return std::nullopt;
}

}  // namespace semel::config
