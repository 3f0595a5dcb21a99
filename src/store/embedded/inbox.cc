#include "store/embedded/inbox.h"

#include "store/call.h"
#include <semel/async.h>
#include <semel/result.h>

namespace semel::store::embedded {

Task<void> EmbeddedInbox::submit(InboxCall* call) {
  StoreCall with_others{.key = {}, .request = call};
  co_await committer_.submit(with_others);
}

Task<void> EmbeddedInbox::read(Look look, Result<void>* answer, Extent extent) {
  if (extent == Extent::brief) {
    *answer = look(ledger_);
    co_return;
  }
  const auto aside = [&] { *answer = look(ledger_); };
  co_await aside_.run(aside);
}

}  // namespace semel::store::embedded
