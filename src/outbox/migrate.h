// `semel migrate --outbox`: gives a database of the user's own an outbox, or brings it up to date.
#pragma once

#include <string>

#include <semel/clock.h>
#include <semel/result.h>

namespace semel::outbox {

// Who may use it beside its owner; empty: nobody else.
struct OutboxRoles {
  std::string writer;  // may call semel.send(), and nothing else
  std::string mover;   // may move what was sent, and nothing else
};

struct OutboxMigrated {
  int from = 0;  // 0: there was none
  int to = 0;
};

// In one transaction, as the role of `url`, which owns it afterwards. Other versions of Semel that do so at once wait.
// Code::unavailable: the server cannot be reached, is a replica, or refuses; the detail says which.
Result<OutboxMigrated> migrate_outbox(Clock& clock, const std::string& url, const OutboxRoles& roles);

// The same as SQL, for operators who run it themselves.
std::string outbox_script(const OutboxRoles& roles);

}  // namespace semel::outbox
