// What was done to a key, for its timeline. The audit log is what counts; this is only shown.
#pragma once

#include <cstdint>
#include <string>

#include "store/history.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::gateway {

struct ActNote {
  std::string act;
  std::string who;
  std::string role;
  std::string reason;
  std::uint64_t audit = 0;  // the entry of the audit log
  std::uint64_t fence = 0;
};

// `history` may be null.
Task<void> note_act(store::History* history, Digest id, ActNote note, Time at);

}  // namespace semel::gateway
