// Raises the pulse of a database once a second while this process writes to it, and remembers how far it is.
//
// A server whose pulse is behind that lacks what was written since: it is an older copy, and is not admitted
// (known_server.h). A process that is idle looks how far it is, since others may write. If the server to which its
// connection leads says less than was known before, all connections of the store are made anew.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "store/postgres/heartbeat.h"
#include "store/postgres/late_driver.h"
#include "store/postgres/seen.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::store::postgres {

class Pulse {
 public:
  // `wrote` is set by others when something has become durable. What was seen goes to `newest`, and now and then to
  // `folder`, unless that is empty.
  Pulse(Clock& clock, LateDriver& driver, std::atomic<bool>& wrote, std::shared_ptr<NewestSeen> newest,
        std::filesystem::path folder);
  // What was seen last goes to the folder.
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  // `database` is its name among the shards.
  void start(std::string database);

 private:
  Task<void> beat();
  void keep() const;

  LateDriver& driver_;
  std::atomic<bool>& wrote_;
  const std::shared_ptr<NewestSeen> newest_;
  const std::filesystem::path folder_;
  std::string database_;
  std::uint64_t beats_ = 0;
  Heartbeat heart_;  // last: it uses the others until it has ended
};

}  // namespace semel::store::postgres
