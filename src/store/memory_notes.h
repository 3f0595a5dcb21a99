// The notes of the reference store: a map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "store/notes.h"
#include <semel/async.h>

namespace semel::store {

class MemoryNotes : public Notes {
 public:
  Async<std::optional<StoredNote>> read(std::string name) override;
  Async<std::uint64_t> write(NoteChange change) override;
  Async<NotePage> list(std::string prefix, std::string cursor, std::size_t limit) override;

 private:
  std::mutex mutex_;
  std::map<std::string, StoredNote> notes_;
};

}  // namespace semel::store
