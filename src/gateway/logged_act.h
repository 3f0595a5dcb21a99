// Settling a key, by a person or by a resolver: it is in the audit log before it happens, and what came of it is
// written behind it. An act without such a second entry was cut off: whether it was applied can be seen at the key,
// whose fence then has the act as its owner.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/settlement.h"
#include "store/audit_log.h"
#include "store/desk.h"
#include "store/history.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::gateway {

std::string time_text(Time at);  // RFC 3339 with milliseconds, UTC
std::string_view state_name(Record::State state);

// Who acts, for the log.
struct Actor {
  std::string name;
  std::string role;
  std::string known_by;
  std::string from;
};

struct LoggedAct {
  std::string what;  // the word for the log
  std::string reason;
  Actor actor;
  core::Settlement settlement;
};

// What an act is written to and done with. All of it outlives the act.
struct ActBooks {
  store::Desk& desk;
  store::AuditLog& audit;
  store::History* history;                // null if the store has none
  std::function<Task<void>(Key)> forget;  // the key has changed; done when no thread here remembers it
  std::function<Time()> now;
};

struct ActEnd {
  Result<std::uint64_t> logged;  // the number of the entry; an error: nothing was done
  Result<void> settled;          // Code::fenced: nothing was changed. Another error: it is not known whether it was
};

// A random number for a Settlement.
std::uint64_t random_act();

// An entry about what somebody does to the key `before`. `number` is that of the act; 0 if it has none.
std::string entry_text(const LoggedAct& act, const Held& before, std::uint64_t number, Time at);

Task<ActEnd> settle_logged(const ActBooks* books, Held before, LoggedAct act);

}  // namespace semel::gateway
