#include "store/memory_inbox.h"

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "store/call.h"
#include "store/inbox_step.h"
#include "store/inbox_table.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {

Result<std::optional<std::string>> MemoryTable::get(std::string_view key) {
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

Result<void> MemoryTable::walk(std::string_view begin, std::string_view prefix, InboxVisit visit) {
  for (auto it = entries_.lower_bound(begin); it != entries_.end() && it->first.starts_with(prefix); ++it) {
    if (!visit(it->first, it->second)) break;
  }
  return {};
}

void MemoryTable::put(std::string key, std::string value) {
  ++writes_;
  entries_.insert_or_assign(std::move(key), std::move(value));
}

void MemoryTable::erase(std::string key) {
  ++writes_;
  entries_.erase(key);
}

void MemoryTable::go_back(std::size_t savepoint) {
  core::check(writes_ == savepoint, "a step over memory fails before it writes");
}

MemoryInbox::MemoryInbox(Clock& clock, std::mutex& mutex, KeyRecords& records)
    : clock_(clock), mutex_(mutex), records_(records) {
  core::check(book_.open(table_, clock.now()).has_value(), "an empty inbox can be opened");
}

Task<void> MemoryInbox::submit(InboxCall* call) {
  const std::scoped_lock lock(mutex_);
  const Time now = clock_.now();
  call->answer = make_step(*call, book_, table_, records_, now);
  book_.finish(table_, now);
  book_.committed();
  co_return;
}

Task<void> MemoryInbox::read(Look look, Result<void>* answer, Extent /*extent*/) {
  const std::scoped_lock lock(mutex_);
  *answer = look(table_);
  co_return;
}

}  // namespace semel::store
