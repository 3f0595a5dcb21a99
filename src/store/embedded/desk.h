// The operator's view of an embedded store. Reading is done on a thread of its own; an act is a call like any other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/settlement.h"
#include "store/aside.h"
#include "store/desk.h"
#include "store/embedded/committer.h"
#include "store/embedded/rocks_ledger.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::embedded {

class EmbeddedDesk : public Desk {
 public:
  EmbeddedDesk(RocksLedger& ledger, Committer& committer) : ledger_(ledger), committer_(committer) {}

  Async<std::vector<Held>> find(std::string id_begins, std::size_t limit) override;
  Async<KeyList> list(KeyFilter filter, std::string cursor) override;
  Async<void> settle(Digest id, core::Settlement settlement) override;

 private:
  Result<std::vector<Held>> find_now(const std::string& id_begins, std::size_t limit);
  std::optional<Record> last_event(const Record& object, const std::string& id_begins);
  Result<KeyList> list_now(const KeyFilter& filter, const std::string& cursor);

  RocksLedger& ledger_;
  Committer& committer_;
  Aside aside_;
};

}  // namespace semel::store::embedded
