// once() for plain threads: blocking servers, job workers, queue consumers. No coroutine in sight.
//
//   thread that calls run()   ── waits ──▶ runs the action ── waits ──▶ has the answer
//   one thread of its own      claims, decides        renews the lease, completes or releases
//
// It is the code of once.h below, so the promises are the same. The action runs on the caller's thread and may block as
// long as it likes: the lease is renewed meanwhile. No exception leaves run().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <semel/clock.h>
#include <semel/endings.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/store.h>

namespace semel {

// As Action and Probe in once.h, called on the thread that called run(). An exception that leaves one counts as
// Verdict::unknown.
using BlockingAction = std::move_only_function<Outcome(Fence)>;
using BlockingProbe = std::move_only_function<Outcome()>;

class BlockingOnce {
 public:
  // As Once. Starts a thread; std::system_error if there is none to be had.
  BlockingOnce(Store& store, Clock& clock, std::uint64_t seed, std::size_t waiters_max = 10'000,
               Endings* endings = nullptr);
  ~BlockingOnce();  // as close()
  BlockingOnce(const BlockingOnce&) = delete;
  BlockingOnce& operator=(const BlockingOnce&) = delete;

  // May be called from any number of threads, and from within an action (for another key).
  Answer run(Key key, Fingerprint fingerprint, Policy policy, BlockingAction action, BlockingProbe probe = {});

  // From now on every call is refused with store_unavailable and runs nothing. Returns when those under way have ended
  // and the store is used no more: destroy the store after this. Not to be called from within an action.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel
