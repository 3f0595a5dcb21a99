// Small named values that must not be lost: how far a piece of background work has come, what it found, who does it.
//
// A note changes only if it is still the one that was read (compare and set), so several gateways may share it: the one
// that writes first wins, and the others learn that. Writes are rare and small; this is no place for what a request
// writes.
//
// On an encrypted store the values are encrypted and the names are not: what tells something about a caller goes into
// the value, or into the name as a hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include <semel/async.h>
#include <semel/result.h>

namespace semel::store {

inline constexpr std::size_t note_name_bytes_max = 200;  // printable ASCII
inline constexpr std::size_t note_value_bytes_max = 64U << 10U;
inline constexpr std::size_t notes_listed_max = 1'000;  // of one page

struct StoredNote {
  std::string name;
  std::string value;
  std::uint64_t version = 0;  // another one after every write; never 0
};

struct NoteChange {
  std::string name;
  std::optional<std::string> value;  // none: the note goes
  std::uint64_t over = 0;            // the version that is replaced; 0: there is no such note yet
};

struct NotePage {
  std::vector<StoredNote> items;  // in the order of the names, as bytes
  std::string cursor;             // where to go on; empty if this was all
};

class Notes {
 public:
  virtual ~Notes() = default;

  // None if there is no such note. Code::corrupt: it cannot be read.
  virtual Async<std::optional<StoredNote>> read(std::string name) = 0;

  // Durable when it returns; returns the new version, 0 of a note that has gone. To remove what is not there succeeds.
  // Code::fenced: the note is not, or no longer, the version that is to be replaced; nothing was changed.
  // Code::invalid: the name or the value is too large. Code::unavailable: it may or may not have been done.
  virtual Async<std::uint64_t> write(NoteChange change) = 0;

  // Those whose names begin with `prefix`, at most `limit`, behind `cursor` (empty: from the first).
  // Code::invalid: the prefix or the cursor is none.
  virtual Async<NotePage> list(std::string prefix, std::string cursor, std::size_t limit) = 0;
};

// What every store asks of a change before it does anything.
Result<void> check_note(const NoteChange& change);
// The same of a list. A cursor is the last name of the page before.
Result<void> check_note_list(const std::string& prefix, const std::string& cursor);
std::uint64_t random_note_version();

inline std::unexpected<Error> note_has_changed() {
  return fail(Code::fenced, "the note is no longer the version that was to be replaced");
}

}  // namespace semel::store
