// Collects everything there is to say about one configuration file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "reading/document.h"
#include "reading/fault.h"
#include "reading/issue.h"

namespace semel::reading {

class Report {
 public:
  // Both must outlive the report.
  Report(std::string_view file, std::string_view text) : file_(file), text_(text) {}

  void error(Position at, std::string_view message, std::string_view suggestion = {});
  void warning(Position at, std::string_view message, std::string_view suggestion = {});

  // Issues of a file that this one names.
  void include(const std::vector<Issue>& issues);

  // The place of byte `offset` of the string `value`. Exact to the character, unless the string was written with
  // escapes: then its beginning.
  [[nodiscard]] Position inside(const Node& value, std::size_t offset) const;

  [[nodiscard]] bool has_errors() const { return errors_ > 0; }
  [[nodiscard]] std::vector<Issue> take() &&;  // in the order of the file

 private:
  void add(Severity severity, Position at, std::string_view message, std::string_view suggestion);

  std::string_view file_;
  std::string_view text_;
  std::vector<Issue> issues_;
  std::size_t errors_ = 0;
};

}  // namespace semel::reading
