#include "store/memory_notes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "store/notes.h"
#include <semel/async.h>
#include <semel/result.h>

namespace semel::store {

Async<std::optional<StoredNote>> MemoryNotes::read(std::string name) {
  const std::scoped_lock lock(mutex_);
  const auto found = notes_.find(name);
  co_return found == notes_.end() ? std::nullopt : std::optional(found->second);
}

Async<std::uint64_t> MemoryNotes::write(NoteChange change) {
  if (Result<void> sound = check_note(change); !sound) co_return std::unexpected(std::move(sound.error()));
  const std::scoped_lock lock(mutex_);
  const auto found = notes_.find(change.name);
  const std::uint64_t version = found == notes_.end() ? 0 : found->second.version;
  if (!change.value && version == 0) co_return std::uint64_t{0};
  if (version != change.over) co_return note_has_changed();
  if (!change.value) {
    notes_.erase(found);
    co_return std::uint64_t{0};
  }
  StoredNote note{.name = change.name, .value = *std::move(change.value), .version = random_note_version()};
  const std::uint64_t written = note.version;
  notes_.insert_or_assign(std::move(change.name), std::move(note));
  co_return written;
}

Async<NotePage> MemoryNotes::list(std::string prefix, std::string cursor, std::size_t limit) {
  if (Result<void> sound = check_note_list(prefix, cursor); !sound) co_return std::unexpected(std::move(sound.error()));
  limit = std::min(limit, notes_listed_max);
  const std::scoped_lock lock(mutex_);
  NotePage page;
  auto at = cursor.empty() ? notes_.lower_bound(prefix) : notes_.upper_bound(cursor);
  for (; at != notes_.end() && at->first.starts_with(prefix); ++at) {
    if (page.items.size() >= limit) {
      page.cursor = page.items.empty() ? cursor : page.items.back().name;
      break;
    }
    page.items.push_back(at->second);
  }
  co_return page;
}

}  // namespace semel::store
