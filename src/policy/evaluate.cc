#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ascii.h"
#include "policy/expression.h"
#include "policy/part_value.h"
#include "policy/request_view.h"

namespace semel::policy {
namespace {

void append_encoded(std::string& out, std::string_view value) {
  for (const char c : value) {
    const bool unreserved = core::is_letter(c) || core::is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (unreserved) {
      out.push_back(c);
    } else {
      out.append(fmt::format("%{:02X}", static_cast<unsigned char>(c)));
    }
  }
}

}  // namespace

std::expected<std::string, PartError> evaluate(const Expression& expression, const RequestView& request) {
  std::vector<PartValue> values;
  values.reserve(expression.parts.size());
  for (const Part& part : expression.parts) {
    auto value = value_of(part, request);
    if (!value) return std::unexpected(std::move(value).error());
    values.push_back(std::move(*value));
  }
  return join_values(values);
}

std::expected<std::string, PartError> render_target(const Expression& expression, const RequestView& request,
                                                    std::string_view key) {
  std::string target;
  for (const Part& part : expression.parts) {
    if (part.kind == PartKind::literal) {
      target.append(part.text);
    } else if (part.kind == PartKind::key) {
      append_encoded(target, key);
    } else {
      auto value = value_of(part, request);
      if (!value) return std::unexpected(std::move(value).error());
      append_encoded(target, value->value_or(""));
    }
  }
  return target;
}

}  // namespace semel::policy
