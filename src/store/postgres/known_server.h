// Whether a server is still the one that a gateway was started with.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "store/postgres/server.h"
#include <semel/result.h>

namespace semel::store::postgres {

class KnownServer {
 public:
  // `identity` is what the database must say of itself (Server::identity).
  explicit KnownServer(std::string identity) : identity_(std::move(identity)) {}

  // The first server that is admitted is the one that all later ones are compared with. Code::unavailable: it must not
  // be used; says why.
  Result<void> admit(const Server& server);

  // Of the server that was admitted first (Server::set); empty before.
  [[nodiscard]] const std::string& set() const { return set_; }

 private:
  const std::string identity_;  // by another one our keys have other names
  std::string name_;            // of the database; another one would have none of our keys
  std::string set_;             // of the shards; with another one keys are elsewhere
  std::uint32_t timeline_ = 0;  // the newest one seen
};

}  // namespace semel::store::postgres
