// The queue beside a Store: what was accepted and has not been delivered yet.
//
//            accept (durable, then acknowledged)
//   nothing ─────────────┬──▶ running ──▶ done
//                        │     ▲  │ failed, or its process is gone
//       no room, paused, │ take│  ▼
//       not its turn     └──▶ waiting ──▶ dead ── an operator ──▶ waiting
//   ends without a handler: superseded · skipped · discarded       nobody knows: unknown ── an operator ──▶ …
//
// An event is kept once, and has a delivery for each destination. Accepting it is one durable step with the record of
// its key, so it is accepted once. Every change of a delivery counts: for each source and destination, what was
// accepted is the sum of all states, always.
//
// Who has the store open is a holder: one process, or several on a store that is shared. An attempt needs no lease
// while its holder lives; what that left running when it died is put back by adopt(). Members may be called from any
// io_context.
//
// Times that are told here are of the process's clock, though a store goes by a time of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/event_id.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::store {

enum class DeliveryState : std::uint8_t {
  waiting = 1,
  running = 2,
  done = 3,
  dead = 4,
  superseded = 5,  // a newer event of its object has been handled
  skipped = 6,     // by a filter
  discarded = 7,   // by an operator
  unknown = 8,     // it may have taken effect, and waits for an operator
};
inline constexpr std::size_t delivery_states = 9;  // one more than there are, because they begin at 1

std::string_view name(DeliveryState state);
std::optional<DeliveryState> delivery_state(std::string_view name);
inline bool has_ended(DeliveryState state) {
  return state != DeliveryState::waiting && state != DeliveryState::running && state != DeliveryState::unknown;
}

// Fresh events come before retries, and these before what operators send again.
enum class Urgency : std::uint8_t { fresh = 0, retry = 1, replay = 2 };

// One event to one destination.
struct DeliveryRecord {
  std::string to;
  DeliveryState state = DeliveryState::waiting;
  Urgency urgency = Urgency::fresh;
  bool in_line = false;       // waiting for its turn among the events of its object, and not for a time
  bool taken = false;         // made to run by take(), and not when it was accepted
  std::uint32_t attempt = 0;  // the newest; the first is 1
  std::uint32_t tries = 0;    // that have failed since `since`
  std::uint16_t status = 0;   // of the last answer; 0 if there was none
  Time due{};                 // of one that waits
  Time since{};               // it was accepted, or sent again by an operator
  Time changed{};
  std::string why;        // what came of the last attempt; the rule that skipped it; the operator's reason
  std::uint64_t job = 0;  // the newest that has changed it (inbox_jobs.h); 0: none has
};

// Events of one object, in their order.
struct Line {
  enum class Kind : std::uint8_t { none = 0, latest = 1, fifo = 2 };

  Kind kind = Kind::none;
  ScopeDigest object{};
  std::string stamp;    // the greater is the newer (src/core/stamp.h)
  Millis reorder{0};    // of fifo: how long an event waits for an earlier one that has not arrived
  bool blocks = false;  // of fifo: a dead event holds up those behind it
};

struct AcceptedEvent {
  core::EventId id;
  std::string source;
  std::string type;
  Digest key{};  // by which a duplicate is known
  Line line;
  Time expires_at{};        // of that key
  Time drop_at{};           // when what came is to be dropped, if all of its deliveries have ended
  std::uint64_t bytes = 0;  // of what came; 0 once that has been dropped
  std::vector<DeliveryRecord> deliveries;
};

// What an event came with: the request, as a value that stores keep and encrypt like any answer. Its status is 200.
using Parcel = Response;

struct AcceptOrder {
  // A destination, and whether an attempt may begin now. `skipped_by` is the rule of a filter that does not take it.
  // `dead_for` says why no handler is to get it at all: it is dead from the beginning.
  struct To {
    std::string name;
    bool room = false;
    std::string skipped_by;
    std::string dead_for{};
  };

  Key key;
  Fingerprint fingerprint;
  Millis ttl{0};
  std::uint64_t owner = 0;  // random, as in Terms
  std::string source;
  std::string type;
  Line line;
  std::vector<To> to;
  std::shared_ptr<const Parcel> parcel;
  std::uint64_t depth_max = 0;  // of the source: deliveries that have not ended
  std::uint64_t bytes_max = 0;  // of everything that is kept
  Millis retain_ended{0};       // used if nothing is left to deliver
};

// What a duplicate of the event is told: made when the event has its id. Stored with its key.
using AcceptReply = std::function<SharedResponse(const core::EventId&, const Key&, const Fence&)>;

struct KnownEvent {
  Held held;  // what holds the key; another fingerprint is another event under its name
};
struct InboxFull {
  std::string what;
};
using Acceptance = std::variant<AcceptedEvent, KnownEvent, InboxFull>;

struct TakeOrder {
  std::string to;
  std::size_t limit = 0;
  std::size_t replays_max = 0;  // at most so many that operators sent again; 0: those are not even looked at
  Millis retain_ended{0};       // of those that end here because a newer one is done
};
// The times of deliveries that take() has made to run are by the clock of this process, whatever the store goes by.
struct TakenDelivery {
  AcceptedEvent event;
  std::size_t at = 0;  // which of its deliveries
};
struct TakenDeliveries {
  std::vector<TakenDelivery> deliveries;
  std::optional<Time> next;  // when the next is due that is not yet; none if none waits for a time
};

// What a duplicate of the event is told from now on, made for the record of its key. None: as before.
using SettleReply = std::function<SharedResponse(const Record&)>;

struct SettleOrder {
  core::EventId id;
  std::string to;
  std::uint32_t attempt = 0;
  DeliveryState state = DeliveryState::done;  // waiting: to be tried again after `wait`
  Millis wait{0};
  std::uint16_t status = 0;
  std::string why;
  bool tried = true;       // whether the attempt counts for the schedule: false if it never began
  Millis retain_ended{0};  // how long its body is kept, if this was the last that it was kept for
  SettleReply answer{};
};

struct AdoptOrder {
  std::size_t limit = 0;
  Millis rest{0};                              // a handler may still be at work on what was left
  std::vector<std::string> holding;            // destinations where what may have taken effect waits for an operator
  std::vector<std::string> holding_replays{};  // those where that is so of what an operator has sent again
};

// How the limits of destinations are divided: by how many processes deliver, and which of them this one is. From `of`
// on: this one has no part in them yet.
struct DeliveryShare {
  std::uint32_t of = 1;
  std::uint32_t at = 0;
};

struct LeadOrder {
  std::vector<std::string> to;
  Millis rest{0};  // a handler may still be at work for a process that is dead
};

// A delivery waits for this destination, until then.
using DueListener = std::function<void(const std::string& to, Time at)>;
// What of the inbox cannot be read, and why.
using UnreadListener = std::function<void(const std::string& what)>;

class Inbox {
 public:
  virtual ~Inbox() = default;

  // Who is told, from any thread and after each call, of what that call made to wait: also of the next of an object,
  // whose turn has come because another ended in whatever way. Once, before the first call.
  virtual void tell_due(const DueListener& /*listener*/) {}
  // Who is told of each event, or queue, that cannot be read: once, from any thread. It stays as it is, is tried again
  // from time to time, and others go on without it. Once, before the first call.
  virtual void tell_unread(const UnreadListener& /*listener*/) {}

  // Accepts an event whose key is free, with attempt 1 of each delivery that has room already running. Durable when it
  // returns. Code::full, Code::unavailable and Code::corrupt as Store::claim(): nothing may be acknowledged.
  virtual Async<Acceptance> accept(AcceptOrder order, AcceptReply reply) = 0;

  // Makes waiting deliveries run: those that are due, and whose turn it is. The number of the attempt is durable when
  // this returns.
  virtual Async<TakenDeliveries> take(TakeOrder order) = 0;

  // Ends an attempt. Repeating a call that succeeded succeeds. Code::fenced: the attempt is not running any more.
  virtual Async<void> settle(SettleOrder order) = 0;

  // Lets what a dead holder left running wait for `rest`, and then run again; or makes it unknown.
  // Looks at about `limit` events, and returns 0 when it has looked at all. Unless the inbox is shared, nothing is
  // taken before that.
  virtual Async<std::size_t> adopt(AdoptOrder order) = 0;

  // What an event came with. None if it is not kept any more.
  virtual Async<std::optional<Parcel>> load(core::EventId id) = 0;

  // Whether other processes take from it, too. Then adopt() and take() are called again and again: others may die, or
  // leave something that waits.
  [[nodiscard]] virtual bool is_shared() const { return false; }
  // Whether an attempt that was made to run here may begin. False: it has come so late that others may have taken this
  // process for dead.
  [[nodiscard]] virtual bool may_begin(const core::EventId& /*id*/, const std::string& /*to*/) { return true; }

  [[nodiscard]] virtual DeliveryShare share() { return {}; }
  // Of these destinations, those that this process alone may call now. Others that it could call so far are given up.
  // To be called again and again.
  virtual Async<std::vector<std::string>> lead(LeadOrder order) { co_return std::move(order.to); }
  // Whether the last answer of lead() still stands. Yes, if it was not asked about this destination.
  [[nodiscard]] virtual bool leads(const std::string& /*to*/) { return true; }
};

}  // namespace semel::store
