// The calls against the store: one item, or many at once.
//
// The items of a batch are started together and wait together, so the store makes few calls of them. Only events of one
// object go one after the other, the oldest first: a newer one that is granted first would make the older ones
// superfluous.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/access.h"
#include "api/answer.h"
#include "api/item.h"
#include "runtime/pause.h"
#include "store/lookup.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/store.h>

namespace semel::api {

// Where claims live. All of it outlives the calls.
struct Ledgers {
  Once& once;
  Clock& clock;
  Store& store;
  store::Lookup& lookup;
};

// An item, and the answer to it once there is one.
struct ApiJob {
  Item item;
  ItemAnswer answer;
  std::uint64_t fence = 0;  // that a claim was granted with

  [[nodiscard]] bool answered() const { return !answer.body.empty(); }
};

// The items of one request. Whoever waits for them may go before the store has answered for all: so it belongs to each
// of them, too.
struct Shift {
  std::vector<ApiJob> jobs;
  std::string base;                      // reply.problem_base
  std::shared_ptr<runtime::Pause> over;  // rung when every item has its answer
  std::size_t left = 0;                  // that have none yet
};
std::shared_ptr<Shift> make_shift(Clock& clock, std::string base);

// Starts the items that have no answer yet. `ledgers` outlives them.
void start(const Ledgers* ledgers, ApiCall call, const std::shared_ptr<Shift>& shift, const Executor& executor);

// How long the items may wait at most, the store's own time not counted.
Millis longest_wait(const Shift& shift);

// The store was late: refuses what has no answer. Such a call may still be carried out; its caller repeats it.
void refuse_unanswered(Shift& shift);

}  // namespace semel::api
