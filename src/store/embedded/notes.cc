// A note is a value of the table of the inbox; its change is a step of the committer.
#include "store/embedded/notes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/call.h"
#include "store/inbox_book.h"
#include "store/inbox_bytes.h"
#include "store/inbox_codec.h"
#include "store/inbox_table.h"
#include "store/notes.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {
namespace {

std::string key_of(std::string_view name) {
  return std::string(note_prefix).append(name);
}

std::string encoded(const StoredNote& note) {
  ByteSink out;
  out.number(note.version);
  out.text(note.value);
  return out.finish();
}

Result<StoredNote> decoded(std::string_view key, std::string_view bytes) {
  ByteSource in(bytes);
  StoredNote note;
  note.name = key.substr(note_prefix.size());
  note.version = in.number();
  note.value = in.text();
  if (!in.whole()) return corrupt_value("note " + note.name);
  return note;
}

// 0: there is none.
Result<std::uint64_t> version_in(InboxTable& table, const std::string& key) {
  const Result<std::optional<std::string>> found = table.get(key);
  if (!found) return std::unexpected(found.error());
  const std::optional<std::string>& bytes = *found;
  if (!bytes) return 0;
  const Result<StoredNote> note = decoded(key, *bytes);
  if (!note) return std::unexpected(note.error());
  return note->version;
}

Result<void> change_note(InboxTable& table, const NoteChange& change, std::uint64_t written) {
  const std::string key = key_of(change.name);
  const Result<std::uint64_t> version = version_in(table, key);
  if (!version) return std::unexpected(version.error());
  if (!change.value && *version == 0) return {};
  if (*version != change.over) return note_has_changed();
  if (!change.value) {
    table.erase(key);
    return {};
  }
  table.put(key, encoded({.name = change.name, .value = *change.value, .version = written}));
  return {};
}

Result<NotePage> listed(InboxReader& reader, const std::string& prefix, const std::string& cursor, std::size_t limit) {
  NotePage page;
  std::optional<Error> failed;
  const std::string behind = cursor.empty() ? std::string() : key_of(cursor);
  const auto see = [&](std::string_view key, std::string_view value) {
    if (key == behind) return true;
    if (page.items.size() >= limit) {
      page.cursor = page.items.empty() ? cursor : page.items.back().name;
      return false;
    }
    Result<StoredNote> note = decoded(key, value);
    if (!note) failed = std::move(note.error());
    if (failed) return false;
    page.items.push_back(*std::move(note));
    return true;
  };
  const Result<void> walked = reader.walk(behind.empty() ? key_of(prefix) : behind, key_of(prefix), see);
  if (failed) return std::unexpected(*std::move(failed));
  if (!walked) return std::unexpected(walked.error());
  return page;
}

}  // namespace

Async<std::optional<StoredNote>> EmbeddedNotes::read(std::string name) {
  const std::string key = key_of(name);
  const Result<std::optional<std::string>> found = ledger_.get(key);
  if (!found) co_return std::unexpected(found.error());
  const std::optional<std::string>& bytes = *found;
  if (!bytes) co_return std::optional<StoredNote>();
  Result<StoredNote> note = decoded(key, *bytes);
  if (!note) co_return std::unexpected(std::move(note.error()));
  co_return std::optional<StoredNote>(*std::move(note));
}

Async<std::uint64_t> EmbeddedNotes::write(NoteChange change) {
  if (Result<void> sound = check_note(change); !sound) co_return std::unexpected(std::move(sound.error()));
  const std::uint64_t written = change.value ? random_note_version() : 0;
  InboxCall call;
  call.step = [&](InboxBook&, InboxTable& table, KeyRecords&, Time) { return change_note(table, change, written); };
  StoreCall with_others{.key = {}, .request = &call};
  co_await committer_.submit(with_others);
  if (!call.answer) co_return std::unexpected(std::move(call.answer.error()));
  co_return written;
}

Async<NotePage> EmbeddedNotes::list(std::string prefix, std::string cursor, std::size_t limit) {
  if (Result<void> sound = check_note_list(prefix, cursor); !sound) co_return std::unexpected(std::move(sound.error()));
  limit = std::min(limit, notes_listed_max);
  Result<NotePage> page;
  const auto look = [&] { page = listed(ledger_, prefix, cursor, limit); };
  co_await aside_.run(look);
  co_return page;
}

}  // namespace semel::store::embedded
