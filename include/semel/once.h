// once(key, action): however often it is called, the action takes effect once and every caller gets the same answer.
//
// Everything else in Semel is this function with another action. In the gateway, the action is a request to an
// upstream.
//
// You give four things: a Key (which operation), a Fingerprint (whether it is the same request), a Policy (what to do
// with duplicates and failures) and the action. The key is claimed in a Store before the action runs, and the result is
// durable before anybody gets it. Example, for a coroutine on an io_context (examples/once.cc is the whole program):
//
//   semel::Task<semel::Outcome> charge(semel::Fence fence);   // ends with: co_return semel::Outcome::kept(response);
//
//   const semel::Policy policy;                               // the defaults below
//   semel::Action action = charge;
//   semel::Answer answer = co_await once.run(key, fingerprint, policy, std::move(action));
//   if (const auto* ran = std::get_if<semel::Ran>(&answer)) …            // the action ran now: ran->outcome.response
//   else if (const auto* again = std::get_if<semel::Replayed>(&answer)) …  // it ran before: again->response
//   else …                                                    // Refused: its problem says why, and what to do next
//
// Errors are values: a store that does not answer is a Refused. An exception from the action or the probe is caught and
// counts as an unknown outcome. Programs without coroutines use semel/blocking_once.h. docs/guarantees.md has the
// promises, their limits, and the words (claim, fence, lease, unknown) that are used here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <semel/async.h>
#include <semel/clock.h>
#include <semel/endings.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel {

// What to do with duplicates and with failures. Two callers of one key should use the same policy: each call follows
// the one that it was given.
struct Policy {
  // For a caller that comes while the action runs for another one. `conflict` refuses it with in-flight and says when
  // to try again. `wait` lets it wait for that answer.
  enum class InFlight : std::uint8_t { conflict, wait };

  // For a key whose outcome nobody knows: a process died, or an action ended with Verdict::unknown. `hold` refuses
  // until the key expires. `retry` runs the action again, with the next fence; use it only if the action itself
  // recognises repeats. `probe` first asks what became of the lost attempt (see Probe).
  enum class OnUnknown : std::uint8_t { hold, retry, probe };

  // How long the key is remembered, counted from its claim. A running action is never cut off by it.
  Millis ttl{86'400'000};

  // How long a claim lives without being renewed. It is renewed three times per lease while the action runs, so the
  // action may take longer. After a crash, the key is unknown when the lease has run out. A ttl or lease outside 1
  // ms…span_max is Refused, and nothing runs.
  Millis lease{30'000};

  InFlight in_flight = InFlight::conflict;

  // With InFlight::wait: how long one call waits at most, counted from its beginning. Then it is refused with
  // in-flight.
  Millis wait_max{10'000};

  OnUnknown on_unknown = OnUnknown::hold;
};

// How an action ended, and what that means for its key.
enum class Verdict : std::uint8_t {
  keep,     // It took effect, or failed for good. Store the response; every later caller gets it until the key expires.
  release,  // It had no effect. Free the key; the next caller runs the action, with the next fence.
  unknown,  // It may have taken effect, and nobody can tell. Policy::on_unknown says what follows.
};

// The result of an action. If in doubt, say unknown: a wrong `release` is a double effect.
struct Outcome {
  Verdict verdict = Verdict::unknown;

  // For the caller whose action it was. Only Verdict::keep stores it; null then means an empty answer with status 204.
  // With Verdict::unknown, null means that the caller is Refused with outcome-unknown.
  SharedResponse response;

  // It is done, or has failed for good, and this is the answer from now on.
  static Outcome kept(Response response) {
    return {.verdict = Verdict::keep, .response = std::make_shared<const Response>(std::move(response))};
  }
  // It failed and changed nothing. This caller gets the response, and a retry runs.
  static Outcome released(Response response) {
    return {.verdict = Verdict::release, .response = std::make_shared<const Response>(std::move(response))};
  }
  // It does not know.
  static Outcome unknown() { return {}; }
};

// The work that must not happen twice. It runs at most once at a time per key, on the executor of the coroutine that
// called run(). The fence says which attempt this is: `number` is 1 for the first claim of a key and grows with each.
// Pass the number on to systems that can compare it, so that they refuse an attempt that was overtaken.
//
// The action may take longer than the lease, because the claim is renewed meanwhile; but it must not block the thread,
// or nothing can be renewed. An exception that leaves it counts as Verdict::unknown. It is called at most once per call
// of run(), and destroyed with it.
using Action = std::move_only_function<Task<Outcome>(Fence)>;

// Asks what became of an attempt of unknown outcome. `keep`: it took effect, and this is its answer. `release`: it did
// not take effect, and the action may run. `unknown`, or an exception: still cannot tell; the caller is refused with
// outcome-unknown. It must have no effect itself: several callers may ask at once, and one call may ask more than once.
using Probe = std::move_only_function<Task<Outcome>()>;

// The action ran for this caller. With Verdict::keep, the response is durable and will be replayed until `expires_at`.
// With the other verdicts, the caller gets the response even if the store could not record the end; the key then
// becomes unknown when its lease runs out.
struct Ran {
  Outcome outcome;
  Fence fence;  // of this attempt
  Time expires_at;
};

// The answer of an earlier run, byte for byte. Never null.
struct Replayed {
  SharedResponse response;
  Fence fence;  // of the attempt that made it
  Time expires_at;
  // Until when the answer holds without asking the store again, by the Clock of the Once. A store on a server has
  // another clock, so `expires_at` cannot be compared with it. The epoch if that is not known.
  Time holds_until{};
  bool waited = false;  // until the action of another caller had ended
};

// Nothing ran for this caller, or its action ran and ended unknown. In the second case the problem is outcome_unknown
// with status 502; a later caller gets it with status 409. An action whose response could not be stored is such a case,
// too: its response is withheld, because it could not be repeated.
struct Refused {
  Problem problem;
  Millis retry_after{0};                // how long to wait before the next try; zero if there is no point in waiting
  std::string detail;                   // the store's error, for the log and not for the caller; often empty
  std::optional<Fingerprint> holder{};  // with key_reused: of the request that the key belongs to
};

// Superseded, only for a call with an `order`: nothing ran, and nothing needs to run, because a newer event of the same
// object has completed.
using Answer = std::variant<Ran, Replayed, Refused, Superseded>;

class BlockingOnce;

// Runs actions once, on one store.
//
// Threads: run() may be called from any number of io_contexts, each of which one thread runs (see semel/async.h). A
// call stays on the io_context that it began on. Callers that wait for a key of this process cost no thread and do not
// poll.
//
// Lifetimes: a Once owns nothing that it is given. The store, the clock and the Once itself must outlive every call of
// run(). If the store did not answer, a call may leave something behind on its io_context that tells the store later
// how it ended, for as long as its lease; so destroy the store only when these io_contexts have stopped.
class Once {
 public:
  // `seed` makes the random owners of claims. Give every process another one (std::random_device), or one process could
  // take the claims of another for its own.
  //
  // `waiters_max` limits the calls that wait at the same time (InFlight::wait). One more is refused with in-flight.
  //
  // `endings` wakes callers that wait for a key that runs in another process; null if the store has none. Such callers
  // also look again every second, since a message may be lost. With null, they look again only when the other's lease
  // may have run out. If it is given, destroy the store before this Once, because the store calls back into it.
  Once(Store& store, Clock& clock, std::uint64_t seed, std::size_t waiters_max = 10'000, Endings* endings = nullptr);
  ~Once();
  Once(const Once&) = delete;
  Once& operator=(const Once&) = delete;

  // Claims `key` and runs `action`, or answers from what is known of the key. Unless the key is free, a call with
  // another fingerprint is refused with key-reused, whatever the key's state.
  //
  // If the store does not answer, the claim is tried up to three times and its end up to five times. A repeated claim
  // carries the same owner, so a claim whose answer was lost is found again. If the claim cannot be made, the call is
  // refused with store-unavailable, and the action does not run.
  //
  // `probe` is used only with OnUnknown::probe; if it is empty there, an unknown key is refused with outcome-unknown.
  // With `order` the key is an event of an object and runs in its turn (see semel/store.h).
  //
  // Cancelling the coroutine reaches only the action, and only while it runs. The claim is ended properly all the same:
  // as the action says, or as unknown if it throws.
  Task<Answer> run(Key key, Fingerprint fingerprint, Policy policy, Action action, Probe probe = {},
                   SharedOrder order = nullptr);

  // For holders that are no action of this process, but renew and end their claims by calls of their own: claims `key`
  // in the store, once, and answers what the store says. While it is running for another, or another event of its
  // object is, the call waits for up to `wait_max`, as with InFlight::wait, and is granted the key if it becomes free.
  // Errors are those of Store::claim; after Code::unavailable, repeat the call with the same owner.
  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms, Millis wait_max);

  // Such a holder has ended its claim: wakes the callers of this process that wait for the key.
  void ended(const Key& key);

 private:
  friend class BlockingOnce;
  void close();  // nothing more is told later

  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace semel
