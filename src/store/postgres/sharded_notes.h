// The notes of several databases as one. A new note goes to one of them, the same for every gateway. All of them are
// read, so that a note is found after the set has changed; it stays where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/notes.h"
#include <semel/async.h>

namespace semel::store::postgres {

class ShardedNotes : public Notes {
 public:
  // The first one gets new notes. There is at least one, and all outlive this.
  explicit ShardedNotes(std::vector<Notes*> shards) : shards_(std::move(shards)) {}

  Async<std::optional<StoredNote>> read(std::string name) override;
  Async<std::uint64_t> write(NoteChange change) override;
  Async<NotePage> list(std::string prefix, std::string cursor, std::size_t limit) override;

 private:
  const std::vector<Notes*> shards_;
};

}  // namespace semel::store::postgres
