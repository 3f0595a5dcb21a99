// The inbox of an embedded store. Its steps go with the batches of the committer; what is only read, is read here.
#pragma once

#include "store/aside.h"
#include "store/call.h"
#include "store/embedded/committer.h"
#include "store/embedded/rocks_ledger.h"
#include "store/inbox_front.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {

class EmbeddedInbox : public InboxFront {
 public:
  EmbeddedInbox(RocksLedger& ledger, Committer& committer) : ledger_(ledger), committer_(committer) {}

 private:
  Task<void> submit(InboxCall* call) override;
  Task<void> read(Look look, Result<void>* answer, Extent extent) override;
  [[nodiscard]] Time now() const override { return ledger_.clock().now(); }
  [[nodiscard]] Millis ahead() const override { return ledger_.clock().ahead(); }

  RocksLedger& ledger_;
  Committer& committer_;
  Aside aside_;
};

}  // namespace semel::store::embedded
