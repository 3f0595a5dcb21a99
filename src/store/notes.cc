#include "store/notes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/seal.h"
#include "store/identity.h"
#include <semel/result.h>

namespace semel::store {
namespace {

bool is_name(const std::string& text) {
  return text.size() <= note_name_bytes_max && std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7F'; });
}

}  // namespace

Result<void> check_note(const NoteChange& change) {
  if (change.name.empty() || !is_name(change.name)) {
    return fail(Code::invalid, "the name of a note is 1 to 200 characters of printable ASCII");
  }
  if (change.value && change.value->size() > note_value_bytes_max) {
    return fail(Code::invalid, "the value of a note has at most 64 KiB");
  }
  return {};
}

Result<void> check_note_list(const std::string& prefix, const std::string& cursor) {
  if (!is_name(prefix)) return fail(Code::invalid, "the beginning of a note's name is printable ASCII");
  if (!is_name(cursor) || (!cursor.empty() && !cursor.starts_with(prefix))) {
    return fail(Code::invalid, "cursor: it is not one that a list has returned");
  }
  return {};
}

std::uint64_t random_note_version() {
  std::uint64_t version = 0;
  while (version == 0) {
    const core::Salt salt = random_salt();
    std::memcpy(&version, salt.data(), sizeof(version));
  }
  return version;
}

}  // namespace semel::store
