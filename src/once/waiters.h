// The callers in this process that wait for a key.
//
// A waiter enters before it looks at the key, so an end that comes between the look and the wait still wakes it.
// Waiting costs no thread and no connection; nothing polls.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/key.h>

namespace semel::once {

class Waiters {
 public:
  Waiters(Clock& clock, std::size_t limit) : clock_(clock), limit_(limit) {}

  // A place in the queue of one key. Destroying it leaves.
  class Place {
   public:
    Place(Waiters& waiters, Key key, Executor executor);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    [[nodiscard]] const std::shared_ptr<runtime::Pause>& pause() const { return pause_; }

   private:
    Waiters& waiters_;
    Key key_;
    std::shared_ptr<runtime::Pause> pause_;
  };

  // Null if too many wait already.
  std::unique_ptr<Place> enter(Key key, Executor executor);

  // Wakes everybody who waits for `key`; they look again. May be called from any thread.
  void wake(const Key& key);

 private:
  struct Sleeper {
    Executor executor;
    std::shared_ptr<runtime::Pause> pause;
  };

  Clock& clock_;
  const std::size_t limit_;
  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::unordered_multimap<Key, Sleeper> sleepers_;
};

}  // namespace semel::once
