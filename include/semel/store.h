// A Store remembers which keys are claimed and how each claim ended.
//
//            claim                     complete
//   free ────────────▶ running ────────────────────▶ done ──ttl──▶ free
//    ▲                  │  │ renew
//    │   release        │  │
//    └──────────────────┘  └── lease lapsed, or complete(unknown) ──▶ unknown ──ttl──▶ free
//
// A store holds no policy: it never picks a status code (see src/core/decision.h), and compares fingerprints only where
// that has to be part of the atomic step: another request never takes over a claim of unknown outcome. It tells time by
// its own clock (the server's, where there is one), so callers pass durations and a gateway with a wrong clock cannot
// steal a lease. All members may be called concurrently, from any number of io_contexts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>

namespace semel {

// Proves which claim on a key is meant. `number` grows by one with each claim of a key, from 1, and goes upstream.
// `owner` is random per claim: a fence from before an expiry, a restart or a failed fsync cannot pass for a later one.
struct Fence {
  std::uint64_t number = 0;
  std::uint64_t owner = 0;

  friend bool operator==(const Fence&, const Fence&) = default;
};

enum class State : std::uint8_t {
  running = 1,   // claimed; the lease is alive
  done = 2,      // `response` is the answer
  unknown = 3,   // nobody can know whether the action took effect
  released = 4,  // free again; kept so that the fence goes on growing
};

struct Record {
  Key key;
  State state = State::running;
  Fence fence;
  Fingerprint fingerprint;
  Time claimed_at;
  Time lease_until;         // of a running claim; the claim lapses at this very millisecond
  Time expires_at;          // fixed by the claim; the record is absent from this very millisecond on
  SharedResponse response;  // set when done

  friend bool operator==(const Record& a, const Record& b);
};

enum class Lapsed : std::uint8_t {
  stands,      // a claim of unknown outcome keeps the key (hold, probe)
  taken_over,  // it is replaced by this claim, with the next fence, if the fingerprint is the same (retry)
};

// Of leases and ttls. Whatever is longer is a mistake, and added to a clock it might overflow.
inline constexpr Millis span_max{3650 * 86'400'000LL};

struct Terms {
  Millis lease{30'000};
  Millis ttl{86'400'000};
  Lapsed lapsed = Lapsed::stands;
  std::uint64_t owner = 0;  // random, the caller's; a claim repeated with the same owner gets its own fence again
  // With taken_over: only the attempt that this fence means may be replaced, because only that one was probed.
  std::optional<Fence> only_over = std::nullopt;
};

struct Granted {
  Fence fence;
  Time expires_at;
};

// Who holds the key. A running record whose lease has lapsed is reported as unknown. `released` is never reported.
struct Held {
  Record record;
  Millis lease_left{0};  // of a running record, more than zero
};

using Claim = std::variant<Granted, Held>;

class Store {
 public:
  virtual ~Store() = default;

  // Takes `key` on `terms` if it is free; otherwise returns what holds it.
  // One atomic step: of any number of concurrent callers, exactly one is Granted. Durable when it returns.
  // Code::unavailable: the claim may have been made; repeat it with the same owner to find out.
  // Code::full: there is no room, nothing was claimed. Code::corrupt: the record cannot be read; the key stays blocked.
  // Code::invalid: lease or ttl is not from 1 ms to span_max; nothing was claimed.
  virtual Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) = 0;

  // Lets the claim live for `lease` from now. Code::fenced: it is over. Code::invalid: as above.
  virtual Async<void> renew(Key key, Fence fence, Millis lease) = 0;

  // Ends the claim with a response to replay or, given none, as unknown. Durable when it returns. Repeating a call that
  // succeeded succeeds; the first response stays.
  // Code::fenced: the claim is over, and this call changed nothing.
  virtual Async<void> complete(Key key, Fence fence, SharedResponse response) = 0;

  // Frees the key: the action had no effect and may run again. Repeating a call that succeeded succeeds.
  // Code::fenced: as above; an unknown outcome is never released.
  virtual Async<void> release(Key key, Fence fence) = 0;

  // Deletes at most `limit` expired records and returns how many; costs what has expired, not what is stored. A running
  // claim whose lease is alive is never deleted.
  virtual Async<std::size_t> sweep(std::size_t limit) = 0;
};

}  // namespace semel
