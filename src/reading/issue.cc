#include "reading/issue.h"

#include <string>

#include <fmt/format.h>

namespace semel::reading {

std::string to_text(const Issue& issue) {
  std::string text = fmt::format("{}:{}:{}: {}: {}", issue.file, issue.at.line, issue.at.column,
                                 issue.severity == Severity::error ? "error" : "warning", issue.message);
  if (!issue.suggestion.empty()) text += fmt::format(" (did you mean \"{}\"?)", issue.suggestion);
  return text;
}

}  // namespace semel::reading
