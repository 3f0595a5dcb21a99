// once(key, action): however often it is called, the action takes effect once and every caller gets the same answer.
//
// Everything else in Semel (the gateway, the claims API, the inbox) is this function with another action.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

struct Policy {
  enum class InFlight : std::uint8_t { conflict, wait };
  enum class OnUnknown : std::uint8_t { hold, retry, probe };

  Millis ttl{86'400'000};
  Millis lease{30'000};  // renewed while the action runs; after a crash the key is unknown when this has passed
  InFlight in_flight = InFlight::conflict;
  Millis wait_max{10'000};
  OnUnknown on_unknown = OnUnknown::hold;
};

// How an action ended. `response` is for the caller who ran it; only Verdict::keep stores it.
enum class Verdict : std::uint8_t {
  keep,     // it took effect, or failed for good: remember the response
  release,  // it had no effect: let a retry run
  unknown,  // it may have taken effect
};

struct Outcome {
  Verdict verdict = Verdict::unknown;
  SharedResponse response;  // required for keep; without one, unknown answers with outcome-unknown

  // What an action says most: it is done, or failed for good, and this is the answer from now on;
  static Outcome kept(Response response) {
    return {.verdict = Verdict::keep, .response = std::make_shared<const Response>(std::move(response))};
  }
  // it failed and changed nothing, this caller hears so, and a retry may run;
  static Outcome released(Response response) {
    return {.verdict = Verdict::release, .response = std::make_shared<const Response>(std::move(response))};
  }
  // it does not know.
  static Outcome unknown() { return {}; }
};

// Runs at most once at a time per key. An exception that leaves it counts as Verdict::unknown.
using Action = std::move_only_function<Task<Outcome>(Fence)>;

// Asks what became of an attempt of unknown outcome: keep = it took effect, with this answer; release = it did not;
// unknown = still cannot tell. Must itself have no effect: several callers may ask at once.
using Probe = std::move_only_function<Task<Outcome>()>;

// The action ran for this caller. Its outcome is durable.
struct Ran {
  Outcome outcome;
  Fence fence;
  Time expires_at;
};

// The answer of an earlier run.
struct Replayed {
  SharedResponse response;
  Fence fence;
  Time expires_at;
};

// Nothing ran for this caller, or what ran ended unknown. `retry_after` is zero when there is no point in waiting.
struct Refused {
  Problem problem;
  Millis retry_after{0};
  std::string detail;  // of the store's error, for the log
};

// Superseded: nothing ran, and nothing is to run, because a newer event of the same object has completed.
using Answer = std::variant<Ran, Replayed, Refused, Superseded>;

// May be called from any number of io_contexts. Outlives the calls that it runs.
class Once {
 public:
  // `seed` makes the owners of claims; give every process another one. `endings`, if there are any, wake those who wait
  // for a key that runs in another process; destroy the store before this.
  Once(Store& store, Clock& clock, std::uint64_t seed, std::size_t waiters_max = 10'000, Endings* endings = nullptr);
  ~Once();
  Once(const Once&) = delete;
  Once& operator=(const Once&) = delete;

  // Cancelling the coroutine reaches the action only; the claim is ended properly all the same.
  // With `order` the key is an event of an object, and runs in its turn (see semel/store.h).
  Task<Answer> run(Key key, Fingerprint fingerprint, Policy policy, Action action, Probe probe = {},
                   SharedOrder order = nullptr);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace semel
