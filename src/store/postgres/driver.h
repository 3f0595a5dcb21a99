// The driver: one thread that gathers the calls of all threads into batches and keeps a few connections busy with them.
//
//   callers (any io_context) ──submit()──▶ queue per kind of call ──▶ Statement ──▶ Pipe (connection) ──▶ server
//                                               ▲                                        │
//                                               └── not settled, connection lost ────────┘
//
// A call that finds a connection idle goes at once, and one that finds all of them idle goes from its own thread; while
// all are busy, calls gather. Every call may be repeated, since it carries its owner or its fence: a call whose answer
// was lost with its connection goes again over the next one, and the row itself says what became of it. A call is
// answered within its time; after that nobody knows whether it was applied. Nothing is ever cancelled on the server: a
// commit that waits for its standbys would then pass for one that they have.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <sys/poll.h>

#include "store/call.h"
#include "store/postgres/connection.h"
#include "store/postgres/dialer.h"
#include "store/postgres/pipe.h"
#include "store/postgres/statement.h"
#include "store/waiting.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::postgres {

struct DriverOptions {
  std::string url;
  std::string identity;                                      // see Dialer
  Millis time_max{5'000};                                    // of a call
  std::size_t connections = 2;                               // at most
  std::function<void(const std::vector<Digest>&)> waited{};  // told of keys that ended and are waited for elsewhere
  std::function<void(std::size_t calls, std::chrono::nanoseconds took)> on_commit{};
};

class Driver {
 public:
  Driver(const Clock& clock, DriverOptions options);
  // Calls that are under way are answered with Code::unavailable.
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Makes the first connection and starts. To be called once, before submit().
  Result<void> start();

  // Completes, on the caller's executor, when the call has been answered. `call` must live until then, and so must
  // `former`, which is given with a FormerClaim only.
  Task<void> submit(StoreCall& call, FormerClaim* former = nullptr);

 private:
  [[nodiscard]] bool idle() const;
  [[nodiscard]] bool send_here(Entry entry);
  void serve();
  void take_in();
  void deliver(Result<Link> link);
  void send();
  std::unique_ptr<Statement> next_batch(std::size_t under_way);
  [[nodiscard]] bool lacks_company() const;
  void wait();
  [[nodiscard]] bool await_any(std::vector<pollfd>& descriptors);
  void read_pipes(std::span<const pollfd> descriptors);
  [[nodiscard]] Time next_deadline(Time now) const;
  void settle(Ended ended);
  void lose(Pipe* pipe);
  void give_up(Pipe* pipe);
  void read_stuck();
  void expire();
  void refuse_now(Entry entry, const Error& error);
  void again(Entry entry);
  void signal() const;

  const Clock& clock_;
  const DriverOptions options_;
  const int wake_fd_;

  // Of the driver's thread; while it sleeps, of the one that holds the mutex.
  std::array<Queue, kinds> queues_;
  std::size_t next_kind_ = 0;
  std::vector<std::unique_ptr<Pipe>> pipes_;
  std::vector<std::unique_ptr<Pipe>> stuck_;  // given up, but the server still has them
  Pipe* broken_ = nullptr;                    // found to be so by the thread of a call
  Wakes answered_;
  Time lost_at_;               // since when there is no connection
  std::optional<Error> down_;  // why there is none

  std::mutex mutex_;
  std::vector<Entry> incoming_;
  std::vector<Result<Link>> dialed_;
  bool sleeping_ = false;  // the driver's thread waits for sockets, and touches nothing else
  bool closing_ = false;

  Dialer dialer_;
  std::thread thread_;
};

}  // namespace semel::store::postgres
