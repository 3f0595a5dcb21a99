// All of a step or nothing: what a step has changed before it failed is taken back, in the table and in what is
// remembered of it.
#include <expected>
#include <string_view>

#include "store/inbox_book.h"
#include "store/inbox_table.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {

InboxBook::Savepoint InboxBook::savepoint(const InboxTable& table) const {
  return {.table = table.savepoint(), .figures = figures_.savepoint()};
}

// What was learnt from keys that are there again must be learnt again. `waits_` may stay: it only makes others look.
void InboxBook::go_back(InboxTable& table, const Savepoint& savepoint) {
  if (table.savepoint() == savepoint.table) return;
  table.go_back(savepoint.table);
  figures_.go_back(savepoint.figures);
  queues_.clear();
  lines_.clear();
}

Result<void> InboxBook::go_on_without(std::string_view what, const Error& error, Time now) {
  if (unread_.note(what, error, now)) return {};
  return std::unexpected(error);
}

}  // namespace semel::store
