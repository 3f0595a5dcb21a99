// The connections of a driver: those that are in use, and those that the server sits on.
//
//   dialer ──▶ in use ──lost──▶ (another is dialed)
//               │  ▲
//   no answer   │  │ answered after all
//               ▼  │
//              stuck
//
// A commit that waits for its standbys keeps its server process whether or not we stay. So a connection without an
// answer is kept too, and only a few are replaced: otherwise a standby that hangs would use up all that the server has.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <sys/poll.h>

#include "store/postgres/connection.h"
#include "store/postgres/dialer.h"
#include "store/postgres/pipe.h"
#include "store/postgres/seen.h"
#include "store/postgres/statement.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {

// Batches that were under way on a connection that is no longer used; whether they were applied is not known.
using GivenUp = std::vector<std::unique_ptr<Statement>>;

class PipePool {
 public:
  // `dialer` makes the connections, and must outlive the pool.
  PipePool(const Clock& clock, Dialer& dialer, std::size_t connections_max)
      : clock_(clock), dialer_(dialer), connections_max_(std::max<std::size_t>(connections_max, 1)) {}

  // What the dialer has to say: a connection, or why there is none.
  void add(Result<Link> link);

  [[nodiscard]] bool empty() const { return pipes_.empty(); }
  // Whether there is a connection, and none of them has anything under way.
  [[nodiscard]] bool idle() const;
  // Whether a batch that was sent after that time, by the stopwatch, is under way.
  [[nodiscard]] bool sent_after(std::chrono::nanoseconds time) const;
  // The one with the least under way. There is one.
  [[nodiscard]] Pipe& idlest() const;
  // Why there is no connection. Null while there is one, and for a moment after the last was lost.
  [[nodiscard]] const Error* down() const { return pipes_.empty() && down_ ? &*down_ : nullptr; }

  // The connection turned out to be lost while it was written to.
  [[nodiscard]] GivenUp lose(Pipe& pipe);
  // The same, for a thread that may not take anything back: the next call of lose_broken() does.
  void set_broken(Pipe& pipe) { broken_ = &pipe; }
  [[nodiscard]] GivenUp lose_broken();
  // The server cannot be used any more.
  [[nodiscard]] GivenUp lose_all(Error why);
  // Whether it can be used is to be seen: for a moment nobody is refused.
  [[nodiscard]] GivenUp lose_all();
  // The same for those that must not be used before their server has been greeted again.
  [[nodiscard]] GivenUp lose_overtaken(const NewestSeen& newest);
  // Puts aside the connections whose answers are too late.
  [[nodiscard]] GivenUp give_up_late(Time now);
  // Nothing is used any more.
  [[nodiscard]] GivenUp give_up_all();

  // What to wait for; and reading it, once it has been waited for.
  [[nodiscard]] std::vector<pollfd> sockets() const;
  struct Read {
    std::vector<Ended> ended;
    GivenUp lost;
  };
  [[nodiscard]] Read read(std::span<const pollfd> sockets);
  void read_stuck();

  // When something has to be done about a connection, if that is before `latest`; else `latest`.
  [[nodiscard]] Time next_deadline(Time latest) const;

 private:
  const Clock& clock_;
  Dialer& dialer_;
  const std::size_t connections_max_;
  std::vector<std::unique_ptr<Pipe>> pipes_;
  std::vector<std::unique_ptr<Pipe>> stuck_;  // given up, but the server still has them
  Pipe* broken_ = nullptr;
  Time lost_at_;               // since when there is no connection
  std::optional<Error> down_;  // why there is none
};

}  // namespace semel::store::postgres
