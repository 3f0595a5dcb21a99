// A Store remembers which keys are claimed and how each claim ended.
//
//            claim                     complete
//   free ────────────▶ running ────────────────────▶ done ──ttl──▶ free
//    ▲                  │  │ renew
//    │   release        │  │
//    └──────────────────┘  └── lease lapsed, or complete(unknown) ──▶ unknown ──ttl──▶ free
//
// A store holds no policy: it never picks a status code (see src/core/decision.h). It compares fingerprints only where
// the atomic step needs it: another request never takes over a claim of unknown outcome. It tells time by its own clock
// (the server's, if there is one), so callers pass durations, and a gateway with a wrong clock cannot steal a lease.
// All members may be called concurrently, from any number of io_contexts.
//
// Claims may be ordered: events of one object run one at a time, and none runs that is older than a completed one. The
// same atomic step decides this (docs/adr/0011-order.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>

namespace semel {

// Identifies one claim on a key. `number` grows by one with each claim of a key, from 1, and goes upstream. `owner` is
// random per claim, so a fence from before an expiry, a restart or a failed fsync cannot pass for a later one.
struct Fence {
  std::uint64_t number = 0;
  std::uint64_t owner = 0;

  friend bool operator==(const Fence&, const Fence&) = default;
};

struct Record {
  enum class State : std::uint8_t {
    running = 1,   // claimed; the lease is alive
    done = 2,      // `response` is the answer
    unknown = 3,   // nobody can know whether the action took effect
    released = 4,  // free again; the record stays so that the fence goes on growing
    object = 5,    // the record of an object whose events are ordered, not of a key; never reported
  };

  // The record of an object names the event that was granted last. That event's own record says how it ended, and so
  // how far the object has come. So the calls that end a claim need not know of the object.
  struct Progress {
    std::string newest;  // stamp of the newest event that had completed when the last was granted; empty if none had
    std::string stamp;  // of the event that was granted last, or the newest of those that were granted together with it
    Digest event{};     // its id
    Fence fence;        // of that claim
    std::uint64_t company = 0;  // see Order

    friend bool operator==(const Progress&, const Progress&) = default;
  };

  Key key;
  State state = State::running;
  Fence fence;
  Fingerprint fingerprint;
  Time claimed_at;
  Time lease_until;         // of a running claim; the lease runs out at exactly this millisecond
  Time expires_at;          // fixed by the claim; the record is absent from exactly this millisecond on
  SharedResponse response;  // set when done
  // Set only in the record of an object. Of its other members, only the key and the times of claim and expiry have a
  // meaning.
  std::shared_ptr<const Progress> progress = nullptr;
  // An earlier attempt under this key ended unknown, and may have taken effect. Until the key expires it belongs to the
  // request that it was claimed for, and a release makes it unknown again.
  bool doubted = false;

  friend bool operator==(const Record& a, const Record& b);
};

// The longest lease and ttl. A longer one is a mistake, and could overflow when it is added to a time.
inline constexpr Millis span_max{3650 * 86'400'000LL};

inline constexpr std::size_t stamp_bytes_max = 1'024;

// Where an event stands among those of its object.
struct Order {
  Key object;         // must not be the key of an event; its home must be that of the event's key
  std::string stamp;  // 1 to stamp_bytes_max bytes, compared as bytes; the greater is the newer (src/core/stamp.h)
  // For events that come and end together: the owner of their first claim. They do not wait for each other.
  std::uint64_t company = 0;
};
using SharedOrder = std::shared_ptr<const Order>;

struct Terms {
  enum class Lapsed : std::uint8_t {
    stands,      // a claim of unknown outcome keeps the key (hold, probe)
    taken_over,  // it is replaced by this claim, with the next fence, if the fingerprint is the same (retry)
  };

  Millis lease{30'000};
  Millis ttl{86'400'000};
  Lapsed lapsed = Lapsed::stands;
  std::uint64_t owner = 0;  // random, by the caller; a repeated claim with the same owner gets its own fence again
  // With taken_over: if set, only the attempt with this fence may be replaced, because only that one was probed.
  std::optional<Fence> only_over = std::nullopt;
  SharedOrder order = nullptr;
};

struct Granted {
  Fence fence;
  Time expires_at;
};

// The record that holds the key. A running record whose lease has run out is reported as unknown. `released` is never
// reported.
struct Held {
  Record record;
  Millis lease_left{0};  // of a running record: more than zero
  Millis left{0};        // until the record expires, by the store's own clock
};

// The key is free, but a newer event of the same object has completed, so this one no longer matters. Nothing was
// claimed.
struct Superseded {};

// The key is free, but another event of the same object is running. Nothing was claimed.
struct Busy {
  Held other;
};

using Claim = std::variant<Granted, Held, Superseded, Busy>;

class Store {
 public:
  virtual ~Store() = default;

  // Takes `key` on `terms` if it is free; otherwise returns what holds it. An ordered claim must also be its object's
  // turn: no other event of the object runs (an event whose lease has run out does not count), and no strictly newer
  // one has completed. This is one atomic step: of any number of concurrent callers, exactly one is Granted. Durable
  // when it returns.
  // Code::unavailable: the claim may have been made; repeat it with the same owner to find out.
  // Code::full: there is no room, nothing was claimed. Code::corrupt: the record cannot be read; the key stays blocked.
  // Code::invalid: lease or ttl outside 1 ms…span_max, or a stamp outside 1…stamp_bytes_max bytes; nothing was claimed.
  virtual Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) = 0;

  // Extends the claim to `lease` from now. Code::fenced: the claim is over. Code::invalid: as above.
  virtual Async<void> renew(Key key, Fence fence, Millis lease) = 0;

  // Ends the claim with a response to replay, or as unknown if `response` is null. Durable when it returns. Repeating a
  // call that succeeded succeeds; the first response stays.
  // Code::fenced: the claim is over, and this call changed nothing.
  virtual Async<void> complete(Key key, Fence fence, SharedResponse response) = 0;

  // Frees the key: the action had no effect and may run again. Repeating a call that succeeded succeeds. If the claim
  // had replaced one of unknown outcome, that one's outcome is as unknown as before, and so is the key.
  // Code::fenced: as above; an unknown outcome is never released.
  virtual Async<void> release(Key key, Fence fence) = 0;

  // Deletes at most `limit` expired records and returns how many it deleted. The cost depends on what has expired, not
  // on what is stored. A running claim whose lease is alive is never deleted.
  virtual Async<std::size_t> sweep(std::size_t limit) = 0;
};

}  // namespace semel
