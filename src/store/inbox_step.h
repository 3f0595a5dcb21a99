// The answer of a step of an inbox, on its way to the caller that waits for it.
#pragma once

#include <expected>
#include <optional>
#include <utility>

#include "store/call.h"
#include <semel/result.h>

namespace semel::store {

// Keeps the answer of a step where its caller finds it.
template <class T>
Result<void> kept(Result<T> from, std::optional<T>& into) {
  if (!from) return std::unexpected(std::move(from.error()));
  into = *std::move(from);
  return {};
}

template <class T>
Result<T> answer_of(const InboxCall& call, std::optional<T>& value) {
  if (!call.answer) return std::unexpected(call.answer.error());
  if (!value) return fail(Code::unavailable, "the step was not made");
  return *std::move(value);
}

}  // namespace semel::store
