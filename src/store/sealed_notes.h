// Notes whose values are encrypted before another store keeps them (docs/adr/0013-encryption.md). A value is bound to
// the name of its note: it opens nowhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/seal.h"
#include "store/notes.h"
#include <semel/async.h>

namespace semel::store {

class SealedNotes : public Notes {
 public:
  // `inner` outlives this.
  SealedNotes(std::shared_ptr<const core::Seals> seals, Notes& inner) : seals_(std::move(seals)), inner_(inner) {}

  Async<std::optional<StoredNote>> read(std::string name) override;
  Async<std::uint64_t> write(NoteChange change) override;
  Async<NotePage> list(std::string prefix, std::string cursor, std::size_t limit) override;

 private:
  const std::shared_ptr<const core::Seals> seals_;
  Notes& inner_;
};

}  // namespace semel::store
