// Keeps a claim alive while its action runs: renews it each time a third of the lease has passed.
//
// Made and destroyed on the executor of the action. A renewal that is under way when the action ends is left alone: the
// store refuses it once the claim has ended.
//
// Most actions end long before their first renewal is due, so it costs almost nothing until then: the renewals of an
// io_context are in one queue, ordered by when they are due, and share one alarm (Round).
#pragma once

#include <memory>

#include <boost/intrusive/set_hook.hpp>

#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/store.h>

namespace semel::once {

inline constexpr int renewals_per_lease = 3;  // so that one may fail, and one may be late

class Renewal : public boost::intrusive::set_base_hook<> {
 public:
  // `key` outlives this.
  Renewal(Store& store, Clock& clock, const Executor& executor, const Key& key, Fence fence, Millis lease);
  ~Renewal();
  Renewal(const Renewal&) = delete;
  Renewal& operator=(const Renewal&) = delete;

 private:
  class Round;
  class Rounds;
  using Sender = std::shared_ptr<Renewal*>;  // null when the action has ended

  void start();
  void wait(int parts_of_lease);
  static Task<void> renew(Sender sender, Store* store, Key key, Fence fence, Millis lease);

  Store& store_;
  const Key& key_;
  const Fence fence_;
  const Millis lease_;
  Round& round_;
  Time due_;
  Sender self_;  // made when the first renewal starts
};

}  // namespace semel::once
