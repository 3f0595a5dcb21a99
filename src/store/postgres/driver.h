// The driver: one thread that gathers the calls of all threads into batches and keeps a few connections busy with them.
//
//   callers (any io_context) ──submit()──▶ Arrivals ──▶ Backlog ──▶ Statement ──▶ PipePool (connections) ──▶ server
//                                                         ▲                           │
//                                                         └─ not settled, or lost ────┘
//
// A call that finds a connection idle goes at once; if all of them are idle, its own thread sends it. While all are
// busy, calls gather. Every call may be repeated, since it carries its owner or its fence: a call whose answer was lost
// with its connection goes again over the next one, and the row itself says what became of it. A call is answered
// within its time; if the server was too slow, nobody knows whether it was applied. Nothing is ever cancelled on the
// server: a commit that waits for its standbys would then look like one that they have.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "store/call.h"
#include "store/postgres/arrivals.h"
#include "store/postgres/backlog.h"
#include "store/postgres/dialer.h"
#include "store/postgres/pipe.h"
#include "store/postgres/pipe_pool.h"
#include "store/postgres/seen.h"
#include "store/postgres/statement.h"
#include "store/postgres/sweep_progress.h"
#include "store/waiting.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::postgres {

struct DriverOptions {
  std::string url;
  std::string identity;                                                 // see KnownServer
  std::filesystem::path state_folder;                                   // the same
  std::shared_ptr<NewestSeen> newest = std::make_shared<NewestSeen>();  // the same
  Millis time_max{5'000};                                               // of a call
  std::size_t connections = 2;                                          // at most
  std::function<void(const std::vector<Digest>&)>
      waited{};  // called with keys that have ended and are waited for elsewhere
  std::function<void(std::size_t calls, std::chrono::nanoseconds took)> on_commit{};
};

class Driver {
 public:
  Driver(const Clock& clock, DriverOptions options);
  // Calls that are under way are answered with Code::unavailable.
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Makes the first connection and starts. Call it once, before submit().
  Result<void> start();
  // The shards of the database, as of start().
  [[nodiscard]] const std::string& set() const { return dialer_.set(); }
  // Its name among them.
  [[nodiscard]] const std::string& name() const { return dialer_.name(); }

  // Completes, on the caller's executor, when the call has been answered. `call` must live until then, and so must
  // `former`, which is given with a FormerClaim only, and `step`, which is given with a StepCall.
  Task<void> submit(StoreCall& call, FormerClaim* former = nullptr, ServerStep* step = nullptr);

 private:
  [[nodiscard]] Arrivals::Done send_here(Entry& entry);
  void serve();
  void take_in();
  void send();
  std::unique_ptr<Statement> next_batch(std::size_t under_way);
  [[nodiscard]] bool lacks_company() const;
  void wait();
  [[nodiscard]] Time next_deadline(Time now) const;
  void settle(Ended ended);
  void expire();
  void refuse_now(Entry entry, const Error& error);
  void again(Entry entry);
  void again(const GivenUp& statements);

  const Clock& clock_;
  const DriverOptions options_;
  Arrivals arrivals_;
  Dialer dialer_;

  // Of the driver's thread; while it sleeps, of the one that holds the lock of the arrivals.
  Backlog backlog_;
  PipePool pool_;
  SweepProgress sweeps_;
  Wakes answered_;

  std::thread thread_;
};

}  // namespace semel::store::postgres
