// Whether a server is still the one that a gateway was started with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "store/postgres/seen.h"
#include "store/postgres/server.h"
#include <semel/result.h>

namespace semel::store::postgres {

class KnownServer {
 public:
  // `identity` is what the database must say of itself (Server::identity). `newest` is shared with others that look at
  // the same database: where the first of them has found it, all of them look for it. The newest that was admitted is
  // kept in `folder`, and found again there; if that is empty, it is forgotten with `newest`.
  explicit KnownServer(std::string identity, std::filesystem::path folder = {},
                       std::shared_ptr<NewestSeen> newest = std::make_shared<NewestSeen>())
      : identity_(std::move(identity)), folder_(std::move(folder)), newest_(std::move(newest)) {}

  // The first server that is admitted is the one that all later ones are compared with. Code::unavailable: it must not
  // be used; says why. It is durable in the folder that a server was admitted before this returns.
  Result<void> admit(const Server& server);

  // See NewestSeen. What is admitted after this was asked is judged by all that was known then.
  [[nodiscard]] std::uint64_t doubts() const { return newest_->doubts(); }
  // Of the server that was admitted first (Server::set); empty before.
  [[nodiscard]] const std::string& set() const { return set_; }
  // The same (Server::name).
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] Result<void> compare(const Server& server, const Reached& seen) const;
  [[nodiscard]] Result<void> compare_settings(const Server& server) const;
  [[nodiscard]] Result<void> keep(const Server& server, const Reached& here, const Reached& noted) const;

  const std::string identity_;  // by another one our keys have other names
  const std::filesystem::path folder_;
  const std::shared_ptr<NewestSeen> newest_;
  std::string name_;  // of the database; another one would have none of our keys
  std::string set_;   // of the shards; with another one keys are elsewhere
};

}  // namespace semel::store::postgres
