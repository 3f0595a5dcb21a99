// Keeps a claim alive while its action runs: renews it each time a third of the lease has passed.
//
// Made and destroyed on the executor of the action. A renewal that is under way when the action ends is left to itself:
// the store refuses it once the claim has ended.
#pragma once

#include <memory>

#include <semel/async.h>
#include <semel/clock.h>
#include <semel/store.h>

namespace semel {

inline constexpr int renewals_per_lease = 3;  // so that one may fail, and one may be late

class Renewal {
 public:
  Renewal(Store& store, Clock& clock, Executor executor, Key key, Fence fence, Millis lease);
  ~Renewal();
  Renewal(const Renewal&) = delete;
  Renewal& operator=(const Renewal&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace semel
