// A step of an inbox: made as a whole or not at all, and its answer on its way to the caller that waits for it.
#pragma once

#include <expected>
#include <optional>
#include <utility>

#include "store/call.h"
#include "store/inbox_book.h"
#include "store/inbox_table.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {

// A step that fails leaves nothing of what it had changed: the batch is written with the changes of others.
inline Result<void> make_step(const InboxCall& call, InboxBook& book, InboxTable& table, KeyRecords& records,
                              Time now) {
  const InboxBook::Savepoint before = book.savepoint(table);
  Result<void> made = call.step(book, table, records, now);
  if (!made) book.go_back(table, before);
  return made;
}

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
