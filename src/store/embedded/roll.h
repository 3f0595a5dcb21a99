// The keys of an embedded store in the order in which they expire, read on a thread of its own.
#pragma once

#include <string>

#include "store/aside.h"
#include "store/embedded/rocks_ledger.h"
#include "store/key_roll.h"
#include <semel/async.h>
#include <semel/result.h>

namespace semel::store::embedded {

class EmbeddedRoll : public KeyRoll {
 public:
  explicit EmbeddedRoll(RocksLedger& ledger) : ledger_(ledger) {}

  Async<RollPage> expiring(RollSpan span, std::string cursor) override;

 private:
  Result<RollPage> read(const RollSpan& span, const std::string& cursor);

  RocksLedger& ledger_;
  Aside aside_;
};

}  // namespace semel::store::embedded
