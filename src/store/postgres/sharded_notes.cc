#include "store/postgres/sharded_notes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "store/notes.h"
#include <semel/async.h>
#include <semel/result.h>

namespace semel::store::postgres {

Async<std::optional<StoredNote>> ShardedNotes::read(std::string name) {
  for (Notes* const shard : shards_) {
    Result<std::optional<StoredNote>> found = co_await shard->read(name);
    if (!found || *found) co_return found;
  }
  co_return std::optional<StoredNote>();
}

// Only the first database gets new notes, so two gateways cannot make one in two places.
Async<std::uint64_t> ShardedNotes::write(NoteChange change) {
  for (Notes* const shard : shards_) {
    Result<std::optional<StoredNote>> found = co_await shard->read(change.name);
    if (!found) co_return std::unexpected(std::move(found.error()));
    const std::optional<StoredNote>& note = *found;
    if (note) co_return co_await shard->write(std::move(change));
  }
  if (change.value && change.over != 0) co_return note_has_changed();
  co_return co_await shards_.front()->write(std::move(change));
}

Async<NotePage> ShardedNotes::list(std::string prefix, std::string cursor, std::size_t limit) {
  limit = std::min(limit, notes_listed_max);
  NotePage all;
  bool more = false;
  for (Notes* const shard : shards_) {
    Result<NotePage> page = co_await shard->list(prefix, cursor, limit);
    if (!page) co_return page;
    more = more || !page->cursor.empty();
    std::ranges::move(page->items, std::back_inserter(all.items));
  }
  std::ranges::sort(all.items, {}, &StoredNote::name);
  more = more || all.items.size() > limit;
  if (all.items.size() > limit) all.items.resize(limit);
  if (more) all.cursor = all.items.empty() ? std::move(cursor) : all.items.back().name;
  co_return all;
}

}  // namespace semel::store::postgres
