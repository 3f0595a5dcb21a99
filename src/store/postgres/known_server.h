// Whether a server is still the one that a gateway was started with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "store/postgres/server.h"
#include <semel/result.h>

namespace semel::store::postgres {

class KnownServer {
 public:
  // `identity` is what the database must say of itself (Server::identity). The newest timeline is kept in `folder`, and
  // found again there; if that is empty, it is forgotten with this object.
  explicit KnownServer(std::string identity, std::filesystem::path folder = {})
      : identity_(std::move(identity)), folder_(std::move(folder)) {}

  // The first server that is admitted is the one that all later ones are compared with. Code::unavailable: it must not
  // be used; says why. It is durable in the folder that a server was admitted before this returns.
  Result<void> admit(const Server& server);

  // Of the server that was admitted first (Server::set); empty before.
  [[nodiscard]] const std::string& set() const { return set_; }

 private:
  Result<std::uint32_t> newest_timeline(const std::string& database) const;

  const std::string identity_;  // by another one our keys have other names
  const std::filesystem::path folder_;
  std::string name_;            // of the database; another one would have none of our keys
  std::string home_;            // where that lives; a copy lacks the keys of the time since
  std::string set_;             // of the shards; with another one keys are elsewhere
  std::uint32_t timeline_ = 0;  // the newest one seen
};

}  // namespace semel::store::postgres
