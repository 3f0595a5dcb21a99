// Fuzzes the reader of expressions and their evaluation.
//
// The first line is the expression, the next ones are fields (the first of them the target, if it begins with a slash),
// and behind an empty line is the body. A part is written back as it was read, what is joined can be taken apart again
// into exactly the values that were joined, and a target of a probe stays one line of visible ASCII.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include "policy/expression.h"
#include "policy/part_value.h"

namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  return line;
}

void check_round_trip(const semel::policy::Expression& expression, semel::policy::ExpressionUse use) {
  std::string text;
  for (const semel::policy::Part& part : expression.parts) {
    if (part.kind != semel::policy::PartKind::literal) {
      text += semel::policy::part_text(part);
      continue;
    }
    for (const char c : part.text) text.append(c == '{' || c == '}' ? 2 : 1, c);
  }
  semel::core::check(text == expression.text, "an expression is written as it was read");
  semel::core::check(semel::policy::parse_expression(text, use)->parts == expression.parts,
                     "and read again as the same parts");
}

// Takes apart what join_values() has joined from more than one value.
std::vector<semel::policy::PartValue> taken_apart(std::string_view joined) {
  std::vector<semel::policy::PartValue> values;
  joined.remove_prefix(1);
  while (!joined.empty()) {
    if (joined.front() == '-') {
      values.emplace_back();
      joined.remove_prefix(1);
      continue;
    }
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(joined.data(), joined.data() + joined.size(), size);
    const auto digits = static_cast<std::size_t>(end - joined.data());
    semel::core::check(digits > 0 && joined.substr(digits).starts_with(':'),
                       "a length and a colon stand before a value");
    values.emplace_back(joined.substr(digits + 1, size));
    joined.remove_prefix(digits + 1 + size);
  }
  return values;
}

void check_values(const semel::policy::Expression& expression, const semel::policy::RequestView& request) {
  std::vector<semel::policy::PartValue> values;
  for (const semel::policy::Part& part : expression.parts) {
    auto value = semel::policy::value_of(part, request);
    if (!value) {
      semel::core::check(!semel::policy::evaluate(expression, request), "one part that cannot be had is enough");
      semel::core::check(value.error().part == semel::policy::part_text(part), "the error names the part");
      return;
    }
    semel::core::check(part.optional || (*value && !(*value)->empty()), "a part that must be there is there");
    values.push_back(std::move(*value));
  }
  const auto joined = semel::policy::evaluate(expression, request);
  semel::core::check(joined && *joined == semel::policy::join_values(values), "values are joined");
  const bool alone = values.empty() || joined->front() != '\0';
  semel::core::check(alone ? values.size() <= 1 : taken_apart(*joined) == values, "and can be taken apart");
}

void check_target(const semel::policy::Expression& expression, const semel::policy::RequestView& request) {
  const auto target = semel::policy::render_target(expression, request, request.body);
  if (!target) return;
  semel::core::check(target->starts_with('/'), "a target is a path");
  semel::core::check(std::ranges::all_of(*target, [](char c) { return c > ' ' && c <= '~'; }), "a target is one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view written = take_line(text);
  std::vector<semel::FieldView> fields;
  semel::policy::RequestView request;
  request.method = "POST";
  request.ip = "192.0.2.7";
  semel::policy::set_target(request, "/");
  for (std::string_view line = take_line(text); !line.empty(); line = take_line(text)) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    if (fields.empty() && line.starts_with('/')) semel::policy::set_target(request, line);
    fields.push_back({.name = line.substr(0, colon), .value = line.substr(std::min(line.size(), colon + 1))});
  }
  request.fields = fields;
  request.body = text;

  for (const auto use : {semel::policy::ExpressionUse::identity, semel::policy::ExpressionUse::target}) {
    const auto parsed = semel::policy::parse_expression(written, use);
    if (!parsed) {
      semel::core::check(parsed.error().offset <= written.size(), "a fault is in the text");
      continue;
    }
    check_round_trip(*parsed, use);
    if (use == semel::policy::ExpressionUse::identity) check_values(*parsed, request);
    if (use == semel::policy::ExpressionUse::target) check_target(*parsed, request);
  }
  return 0;
}
