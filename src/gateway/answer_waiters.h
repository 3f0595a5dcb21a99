// Clients that wait for the answer to a request in the inbox. Used from any thread.
//
// A waiter is told that there may be an answer, and looks for itself: what is durable is in the store.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "core/event_id.h"
#include "runtime/pause.h"
#include <semel/async.h>

namespace semel::gateway {

class AnswerWaiters {
 public:
  // Rings `pause`, on its executor, when the event has ended. Before the waiter looks at how it stands: what ends after
  // that look is told. False if `limit` clients wait already.
  bool add(const core::EventId& id, const Executor& executor, const std::shared_ptr<runtime::Pause>& pause,
           std::size_t limit);
  // A waiter that has gone.
  void remove(const core::EventId& id, const std::shared_ptr<runtime::Pause>& pause);
  void tell(const core::EventId& id);

 private:
  struct Waiter {
    Executor executor;
    std::shared_ptr<runtime::Pause> pause;
  };

  std::mutex mutex_;
  std::multimap<core::EventId, Waiter> waiters_;
};

}  // namespace semel::gateway
