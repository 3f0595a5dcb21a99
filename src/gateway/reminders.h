// Notes what a resolver needs to ask about a key (store/reminder.h), before its request goes upstream.
//
// The request waits for it, because nobody could do it after a crash. But it is help, not a promise: if the history
// does not take a note, or takes long, the request goes on, no more notes are tried for some seconds, and what is
// missing is counted. Used by all threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "store/desk.h"
#include "store/history.h"
#include "store/reminder.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::gateway {

class Reminders {
 public:
  // `desk` names keys as the store does; null if they keep their names. All of it outlives this.
  Reminders(store::History& history, const store::Desk* desk, Clock& clock)
      : history_(history), desk_(desk), clock_(clock) {}

  Task<void> keep(Key key, store::Reminder reminder);

  // Notes that were not written.
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  store::History& history_;
  const store::Desk* desk_;
  Clock& clock_;
  std::atomic<std::int64_t> idle_until_ms_{0};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace semel::gateway
