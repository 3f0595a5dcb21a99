// What other threads hand to the driver's thread: calls, new connections, the wish that it ends. And how it sleeps.
//
// While the driver's thread sleeps it touches nothing, so a caller that holds the lock may do its work for it.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include <sys/poll.h>

#include "core/function_ref.h"
#include "store/postgres/connection.h"
#include "store/postgres/statement.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {

class Arrivals {
 public:
  enum class Done : std::uint8_t {
    nothing,  // the call is still to be handed over
    all,      // the driver may sleep on
    some,     // the call has been taken, but the driver has to see to the rest
  };
  using SendHere = core::FunctionRef<Done(Entry&)>;

  Arrivals();
  ~Arrivals();
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  // From any thread. `send_here` is called if the driver's thread sleeps, and may use what belongs to that thread.
  void add(Entry entry, SendHere send_here);
  void add(Result<Link> link);
  void close();

  // On the driver's thread.
  struct Taken {
    std::vector<Entry> calls;
    std::vector<Result<Link>> links;
  };
  Taken take();
  [[nodiscard]] bool closing();
  // Sleeps until one of `sockets` can be read or written, something arrives, or `time_max` is over. Does not sleep if
  // something has arrived. False if no socket is ready.
  [[nodiscard]] bool wait(std::vector<pollfd>& sockets, Millis time_max);

 private:
  void ring() const;

  const int bell_;  // wakes the driver's thread
  std::mutex mutex_;
  std::vector<Entry> calls_;
  std::vector<Result<Link>> links_;
  bool sleeping_ = false;
  bool closing_ = false;
};

}  // namespace semel::store::postgres
