// The notes of an embedded store. They stand beside the inbox, under a letter of their own, and are written with the
// batches of the committer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "store/aside.h"
#include "store/embedded/committer.h"
#include "store/embedded/rocks_ledger.h"
#include "store/notes.h"
#include <semel/async.h>

namespace semel::store::embedded {

class EmbeddedNotes : public Notes {
 public:
  EmbeddedNotes(RocksLedger& ledger, Committer& committer) : ledger_(ledger), committer_(committer) {}

  Async<std::optional<StoredNote>> read(std::string name) override;
  Async<std::uint64_t> write(NoteChange change) override;
  Async<NotePage> list(std::string prefix, std::string cursor, std::size_t limit) override;

 private:
  RocksLedger& ledger_;
  Committer& committer_;
  Aside aside_;
};

}  // namespace semel::store::embedded
