// once() for plain threads: blocking servers, job workers, queue consumers. No coroutines needed.
//
//   thread that calls run()   ── waits ──▶ runs the action ── waits ──▶ has the answer
//   one thread of its own      claims, decides        renews the lease, completes or releases
//
// It uses the code of once.h, so the promises, the policies and the answers are the same. The action runs on the
// caller's thread and may block as long as it likes, because the other thread renews the lease. No exception leaves
// run().
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

// Like Action and Probe in once.h, but called on the thread that called run(). They may refer to local variables of
// that thread: run() returns only when they have ended. An exception that leaves one counts as Verdict::unknown.
using BlockingAction = std::move_only_function<Outcome(Fence)>;
using BlockingProbe = std::move_only_function<Outcome()>;

class BlockingOnce {
 public:
  // Parameters and lifetimes are those of Once. Starts a thread; throws std::system_error if the system has none left.
  BlockingOnce(Store& store, Clock& clock, std::uint64_t seed, std::size_t waiters_max = 10'000,
               Endings* endings = nullptr);
  ~BlockingOnce();  // calls close()
  BlockingOnce(const BlockingOnce&) = delete;
  BlockingOnce& operator=(const BlockingOnce&) = delete;

  // Blocks until there is an answer. May be called from any number of threads, and from within an action (for another
  // key).
  Answer run(Key key, Fingerprint fingerprint, Policy policy, BlockingAction action, BlockingProbe probe = {});

  // From now on every new call is refused with store_unavailable and runs nothing. Returns when the calls under way
  // have ended and the store is no longer used, so the store can be destroyed after this. May be called more than once.
  // Must not be called from within an action: it would wait for itself.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel
