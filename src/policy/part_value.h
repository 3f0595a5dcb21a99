// The value of one part of an expression, and how values become one string.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>

#include "policy/expression.h"
#include "policy/request_view.h"

namespace semel::policy {

// Null for an optional part that is absent.
using PartValue = std::optional<std::string>;

std::expected<PartValue, PartError> value_of(const Part& part, const RequestView& request);

// No values give the empty string, and a single one is used as it is, unless it is absent, empty or begins with a zero
// byte. Everything else is a zero byte, then for each value its length, a colon and its bytes, or `-` for an absent
// one. So no two lists are joined alike.
std::string join_values(std::span<const PartValue> values);

}  // namespace semel::policy
