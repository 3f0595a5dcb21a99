// Makes connections on a thread of its own, one after the other: looking up a name or a server that does not answer
// holds up nobody. After a failure it waits, longer each time and never exactly as long as its neighbours, so that a
// server that comes back is not run over.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "store/postgres/connection.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {

class Dialer {
 public:
  using Deliver = std::function<void(Result<Link>)>;

  // `deliver` is called on the dialer's thread, with a connection that was admitted or with what went wrong.
  // `identity` is what the database must say of itself (Server::identity).
  Dialer(const Clock& clock, std::string url, std::string identity, Millis time_max, Deliver deliver);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  // Connects and looks whether the server may be used, on the caller's thread.
  Result<Link> dial();
  // One more connection is wanted. Goes on trying until there is one.
  void want();

 private:
  void serve();
  bool next(Millis pause);

  const Clock& clock_;
  const std::string url_;
  const std::string identity_;  // by another one our keys have other names
  const Millis time_max_;
  const Deliver deliver_;
  std::uint32_t timeline_ = 0;  // the newest one seen
  std::string name_;            // of the database; another one would have none of our keys
  std::string set_;             // of the shards; with another one keys are elsewhere
  std::mutex mutex_;
  std::condition_variable wake_;
  std::size_t wanted_ = 0;
  bool closing_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace semel::store::postgres
