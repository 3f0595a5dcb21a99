#include "reading/report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/printable.h"
#include "reading/document.h"
#include "reading/issue.h"

namespace semel::reading {
namespace {

std::uint32_t characters(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(bytes, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

// The text of the file from `at` on.
std::string_view text_from(std::string_view text, Position at) {
  for (std::uint32_t line = 1; line < at.line; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  std::size_t skip = 0;
  for (std::uint32_t column = 1; column < at.column && skip < text.size(); ++column) {
    ++skip;
    while (skip < text.size() && (static_cast<unsigned char>(text[skip]) & 0xc0U) == 0x80U) ++skip;
  }
  return text.substr(skip);
}

}  // namespace

// Messages repeat what the file says, and go to a terminal.
void Report::add(Severity severity, Position at, std::string_view message, std::string_view suggestion) {
  issues_.push_back({.severity = severity,
                     .file = std::string(file_),
                     .at = at,
                     .message = core::printable(message),
                     .suggestion = core::printable(suggestion)});
}

void Report::error(Position at, std::string_view message, std::string_view suggestion) {
  ++errors_;
  add(Severity::error, at, message, suggestion);
}

void Report::warning(Position at, std::string_view message, std::string_view suggestion) {
  add(Severity::warning, at, message, suggestion);
}

Position Report::inside(const Node& value, std::size_t offset) const {
  std::string_view written = text_from(text_, value.at);
  const bool quoted = written.starts_with('"') || written.starts_with('\'');
  if (!quoted || value.kind != NodeKind::string || offset > value.text.size()) return value.at;
  written.remove_prefix(1);
  if (!written.starts_with(value.text)) return value.at;
  return {.line = value.at.line,
          .column = value.at.column + 1 + characters(std::string_view(value.text).substr(0, offset))};
}

void Report::include(const std::vector<Issue>& issues) {
  issues_.insert(issues_.end(), issues.begin(), issues.end());
  errors_ += static_cast<std::size_t>(
      std::ranges::count_if(issues, [](const Issue& issue) { return issue.severity == Severity::error; }));
}

std::vector<Issue> Report::take() && {
  std::ranges::sort(issues_, {}, [](const Issue& issue) { return std::tie(issue.file, issue.at, issue.message); });
  return std::move(issues_);
}

}  // namespace semel::reading
