// The quotas' part in one request: is there room for a new key of its scope, and what became of it.
//
// Events of webhooks have rates of their own and one sender, so they are not counted. A scope in which nothing has
// succeeded yet may have been made up: its keys count for the client's address, too, under the same limits.
#pragma once

#include <optional>

#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/quotas.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>

namespace semel::gateway {

class Allowance {
 public:
  Allowance(const Incoming& incoming, const Job& job);

  // Before anything is claimed: the scope or the address has no room, and the key is surely new.
  [[nodiscard]] std::optional<Quotas::Refusal> refusal() const;
  // The key was claimed. Null if it may run; it counts from now on.
  std::optional<Quotas::Refusal> admit();
  // How it ended; releases give the room back.
  void settle(const Outcome& outcome);

 private:
  const Incoming& incoming_;
  const Job& job_;
  const bool counts_;
  std::optional<Time> counted_until_;
  std::optional<ScopeDigest> stranger_;  // the address that the key counts for as well
};

}  // namespace semel::gateway
