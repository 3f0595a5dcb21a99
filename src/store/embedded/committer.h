// The committer: one thread that takes all calls that are waiting, commits them together, and wakes their callers.
//
//   callers (any io_context) ──submit()──▶ waiting_ ──▶ committer thread: run_batch() ──one post per io_context──▶
//   callers
//
// While one batch is being synced the next one gathers; a call that finds the thread idle starts at once. A call lives
// in the frame of the coroutine that made it. The handler in waiting_ owns that frame, so the call cannot vanish.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "store/call.h"
#include "store/embedded/batch.h"
#include "store/embedded/ledger.h"
#include "store/embedded/recent_writes.h"
#include "store/embedded/store_clock.h"
#include "store/waiting.h"
#include <semel/async.h>

namespace semel::store::embedded {

class Committer {
 public:
  // `inbox` is null if the ledger has none; it outlives this.
  Committer(Ledger& ledger, RecentWrites& recent, const StoreClock& clock, InboxPart* inbox = nullptr);
  // Ends the batch that is under way; calls that still wait are answered with Code::unavailable.
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // Completes, on the caller's executor, when the call has been answered. `call` must live until then.
  // `absent_at`: see BatchCall.
  Task<void> submit(StoreCall& call, std::optional<std::uint64_t> absent_at = std::nullopt);

 private:
  struct Pending {
    Waiting waiting;
    std::optional<std::uint64_t> absent_at;
  };

  void serve();
  bool wait(std::vector<Pending>& calls);
  bool take_more(std::vector<Pending>& calls);
  void commit(std::vector<Pending>& calls);
  static void wake(std::vector<Pending>& calls);

  Ledger& ledger_;
  RecentWrites& recent_;
  const StoreClock& clock_;
  InboxPart* inbox_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Pending> waiting_;
  bool idle_ = false;
  bool closing_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace semel::store::embedded
