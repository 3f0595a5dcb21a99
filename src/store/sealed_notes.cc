// A value is sealed as the body of an answer would be.
#include "store/sealed_notes.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/seal.h"
#include "core/sha256.h"
#include "store/identity.h"
#include "store/notes.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::store {
namespace {

constexpr std::uint16_t some_status = 200;  // a sealed answer has one

core::Belonging place_of(const std::string& name) {
  const Digest id = core::sha256_parts("semel note v1", {name});
  return {.id = id, .fence = {.number = 1, .owner = 0}, .fingerprint = std::nullopt};
}

Result<void> open_note(const core::Seals& seals, StoredNote& note) {
  const Response sealed{.status = 0, .fields = {}, .body = std::move(note.value), .body_kept = true};
  const Result<SharedResponse> plain = seals.open(sealed, place_of(note.name));
  if (!plain) return fail(Code::corrupt, "the note " + note.name + " cannot be opened: " + plain.error().detail);
  note.value = (*plain)->body;
  return {};
}

}  // namespace

Async<std::optional<StoredNote>> SealedNotes::read(std::string name) {
  const std::shared_ptr<const core::Seals> seals = seals_;  // the store may have gone when the answer comes
  Result<std::optional<StoredNote>> found = co_await inner_.read(std::move(name));
  if (!found) co_return found;
  std::optional<StoredNote>& note = *found;
  if (!note) co_return found;
  Result<void> opened = open_note(*seals, *note);
  if (!opened) co_return std::unexpected(std::move(opened.error()));
  co_return found;
}

Async<std::uint64_t> SealedNotes::write(NoteChange change) {
  if (Result<void> sound = check_note(change); !sound) co_return std::unexpected(std::move(sound.error()));
  if (change.value) {
    Response plain{.status = some_status, .fields = {}, .body = *std::move(change.value), .body_kept = true};
    change.value = std::move(seals_->seal(plain, place_of(change.name), random_salt()).body);
  }
  co_return co_await inner_.write(std::move(change));
}

Async<NotePage> SealedNotes::list(std::string prefix, std::string cursor, std::size_t limit) {
  const std::shared_ptr<const core::Seals> seals = seals_;
  Result<NotePage> page = co_await inner_.list(std::move(prefix), std::move(cursor), limit);
  if (!page) co_return page;
  for (StoredNote& note : page->items) {
    Result<void> opened = open_note(*seals, note);
    if (!opened) co_return std::unexpected(std::move(opened.error()));
  }
  co_return page;
}

}  // namespace semel::store
