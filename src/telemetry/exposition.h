// The text format of Prometheus, version 0.0.4, family by family.
#pragma once

#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace semel::telemetry {

inline void heading(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

// `name` may carry labels.
template <class Number>
void sample(std::string& out, std::string_view name, Number value) {
  fmt::format_to(std::back_inserter(out), "{} {}\n", name, value);
}

// As the value of a label, without its quotes.
inline std::string label_text(std::string_view value) {
  std::string out;
  for (const char c : value) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == '\x7F';
    if (c == '\\' || c == '"') out.push_back('\\');
    out.push_back(control ? '?' : c);  // a line break would end the sample, and with it the page for those who read it
  }
  return out;
}

}  // namespace semel::telemetry
