// A scan over the text, one token after the other.
#include "config/audit_query.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/ascii.h"

namespace semel::config {
namespace {

bool is_word_start(char c) {
  return core::is_letter(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_word(char c) {
  return is_word_start(c) || core::is_digit(c) || c == '$';
}

class QueryScan {
 public:
  explicit QueryScan(std::string_view text) : text_(text) {}

  QueryWords run() {
    while (at_ < text_.size() && !found_.broken) step();
    return std::move(found_);
  }

 private:
  void step() {
    const char c = text_[at_];
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("--")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (rest.starts_with("/*")) {
      comment();
    } else if (c == '\'') {
      quoted('\'', escapes_);
    } else if (c == '"') {
      const std::size_t begin = at_ + 1;
      quoted('"', false);
      if (!found_.broken) found_.quoted.emplace(text_.substr(begin, at_ - begin - 1));
      seen();
    } else if (c == '$') {
      dollar();
    } else if (is_word_start(c)) {
      word();
      return;
    } else {
      if (c == '*') found_.star = true;
      if (c == ';') ended_ = true;
      if (c != ';' && c != ' ' && !core::is_control(c)) seen();
      ++at_;
    }
    escapes_ = false;
  }

  // They nest.
  void comment() {
    std::size_t depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const std::string_view rest = text_.substr(at_);
      if (!rest.starts_with("/*") && !rest.starts_with("*/")) continue;
      depth = rest.front() == '/' ? depth + 1 : depth - 1;
      ++at_;
      if (depth > 0) continue;
      ++at_;
      return;
    }
    found_.broken = true;
  }

  // A doubled quote stands for itself; with `escapes`, so does what follows a backslash.
  void quoted(char quote, bool escapes) {
    for (++at_; at_ < text_.size(); ++at_) {
      if (escapes && text_[at_] == '\\') {
        ++at_;
        continue;
      }
      if (text_[at_] != quote) continue;
      if (at_ + 1 >= text_.size() || text_[at_ + 1] != quote) break;
      ++at_;
    }
    found_.broken = at_ >= text_.size();
    ++at_;
  }

  // A parameter, or a string between two equal tags.
  void dollar() {
    std::size_t end = at_ + 1;
    unsigned number = 0;
    while (end < text_.size() && core::is_digit(text_[end]) && number < 1'000) {
      number = (number * 10) + static_cast<unsigned>(text_[end++] - '0');
    }
    if (end > at_ + 1) {
      found_.parameters.insert(number);
      seen();
      at_ = end;
      return;
    }
    while (end < text_.size() && is_word(text_[end]) && text_[end] != '$') ++end;
    if (end >= text_.size() || text_[end] != '$') {
      ++at_;
      return;
    }
    const std::string_view tag = text_.substr(at_, end + 1 - at_);
    const std::size_t close = text_.find(tag, end + 1);
    found_.broken = close == std::string_view::npos;
    at_ = found_.broken ? text_.size() : close + tag.size();
  }

  void word() {
    std::string read;
    for (; at_ < text_.size() && is_word(text_[at_]); ++at_) read += core::to_lower(text_[at_]);
    escapes_ = read == "e" && at_ < text_.size() && text_[at_] == '\'';
    seen();
    if (found_.first.empty()) found_.first = read;
    found_.words.insert(std::move(read));
  }

  void seen() { found_.ends = found_.ends || ended_; }

  std::string_view text_;
  std::size_t at_ = 0;
  QueryWords found_;
  bool ended_ = false;    // a semicolon has been seen
  bool escapes_ = false;  // the next string has backslashes that escape
};

constexpr std::array<std::string_view, 5> wanted{"key", "scope", "effect", "at", "value"};
// No query that only reads has one of these, unless as a name, which can be quoted.
constexpr std::array<std::string_view, 13> writing{"insert", "update", "delete", "merge", "truncate", "into", "create",
                                                   "alter",  "drop",   "grant",  "copy",  "call",     "lock"};

}  // namespace

QueryWords words_of(std::string_view query) {
  return QueryScan(query).run();
}

std::string fault_of_query(std::string_view query) {
  const QueryWords found = words_of(query);
  if (found.broken) return "query has a string, a quoted name or a comment that does not end";
  if (found.ends) return "query must be one statement: something stands behind a semicolon";
  if (found.first != "select" && found.first != "with") return "query must begin with SELECT or WITH";
  for (const std::string_view word : writing) {
    if (!found.words.contains(std::string(word))) continue;
    return fmt::format("query must only read, and has the word {}; a column of that name is written in quotes", word);
  }
  if (!found.parameters.contains(1) || !found.parameters.contains(2)) {
    return "query needs its window: from $1 on, before $2, as in created_at >= $1 AND created_at < $2";
  }
  if (*found.parameters.rbegin() > 2 || *found.parameters.begin() < 1) {
    return "query has the parameters $1 and $2 and no others";
  }
  for (const std::string_view column : wanted) {
    const std::string name(column);
    if (found.star || found.words.contains(name) || found.quoted.contains(name)) continue;
    return fmt::format("query has no column {}; it needs key, scope, effect, at and value, as in id AS effect", column);
  }
  return {};
}

}  // namespace semel::config
