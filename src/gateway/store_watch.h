// The store has limits.store_timeout to say whether a request may run. After that its client is answered without it,
// and a claim that is granted later is given up before anything was sent.
#pragma once

#include <functional>
#include <memory>

#include "gateway/incoming.h"
#include "gateway/told.h"
#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {

// Lives in the coroutine that waits for the store, which must wait for told() if the store was late: the answer may
// still be on its way then, beside it.
class StoreWatch {
 public:
  // `late` makes the answer that the client gets without the store.
  using LateAnswer = std::move_only_function<Task<Told>()>;
  StoreWatch(const Incoming& incoming, Millis time, LateAnswer late);
  StoreWatch(const StoreWatch&) = delete;
  StoreWatch& operator=(const StoreWatch&) = delete;
  ~StoreWatch() = default;

  // The store is being asked.
  void start();
  // It has answered. False if that was too late: the client has been told something else.
  [[nodiscard]] bool in_time();

  // After in_time() said false: what the client was told, once it has been.
  Task<Told> told();

 private:
  static Task<void> answer(StoreWatch* self);

  const Incoming& incoming_;
  const Millis time_;
  LateAnswer late_;
  std::shared_ptr<runtime::Pause> over_;  // set when the time is over; rung when the client has been told
  Told told_;
};

}  // namespace semel::gateway
