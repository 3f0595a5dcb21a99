// Makes connections on a thread of its own, one after the other, so that a slow name lookup or a server that does not
// answer delays nobody else. After a failure it waits, longer each time and never exactly as long as other gateways, so
// that a server that comes back is not overrun.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "store/postgres/connection.h"
#include "store/postgres/known_server.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {

class Dialer {
 public:
  using Deliver = std::function<void(Result<Link>)>;

  // `deliver` is called on the dialer's thread, with an admitted connection or with what went wrong.
  Dialer(const Clock& clock, std::string url, KnownServer known, Millis time_max, Deliver deliver);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  // Connects and checks whether the server may be used, on the caller's thread. If the address names several hosts, and
  // the one that libpq takes may not be used, the others are tried.
  Result<Link> dial();
  // See KnownServer.
  [[nodiscard]] const std::string& set() const { return known_.set(); }
  [[nodiscard]] const std::string& name() const { return known_.name(); }
  // One more connection is wanted. Goes on trying until there is one.
  void want();

 private:
  Result<Link> admit(Result<DatabaseConnection> connection);
  void serve();
  bool next(Millis pause);

  const Clock& clock_;
  const std::string url_;
  const Millis time_max_;
  const Deliver deliver_;
  KnownServer known_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::size_t wanted_ = 0;
  bool closing_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace semel::store::postgres
