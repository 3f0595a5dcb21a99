// What an operator did to a key, for its timeline. The audit log is what counts; this is only shown.
#pragma once

#include <cstdint>
#include <string>

#include "admin/sources.h"
#include <semel/async.h>
#include <semel/key.h>

namespace semel::admin {

struct ActNote {
  std::string act;
  std::string who;
  std::string role;
  std::string reason;
  std::uint64_t audit = 0;  // the entry of the audit log
  std::uint64_t fence = 0;
};

Task<void> note_act(const Sources* sources, Digest id, ActNote note);

}  // namespace semel::admin
