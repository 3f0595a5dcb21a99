// The order of the questions is the protocol: has it expired, has it lapsed, whose is it, and only then what is asked.
// Every boundary is closed on the left: a lease or a record is over at its very millisecond.
#include "core/transition.h"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/settlement.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::core {
namespace {

bool lapsed(const Record& record, Time now) {
  return record.state == Record::State::running && now >= record.lease_until;
}

bool held_by(const Record* stored, Fence fence, Time now) {
  return stored != nullptr && stored->fence == fence && !expired(*stored, now);
}

std::unexpected<Error> fenced(const Record* stored, Fence fence, Time now) {
  if (!held_by(stored, fence, now)) return fail(Code::fenced, "the key is no longer held by this claim");
  if (lapsed(*stored, now)) return fail(Code::fenced, "the lease of this claim has lapsed");
  return fail(Code::fenced, "this claim has already ended in another way");
}

bool running(const Record* stored, Fence fence, Time now) {
  return held_by(stored, fence, now) && stored->state == Record::State::running && !lapsed(*stored, now);
}

// A repetition of a call that succeeded: the claim has ended in exactly the way that is asked for again.
bool ended_as(Record::State state, const Record* stored, Fence fence, Time now) {
  return held_by(stored, fence, now) && stored->state == state;
}

// Never by another request: it would run under a key whose first request may have taken effect (G4).
bool may_take_over(const Record& stored, const Fingerprint& fingerprint, const Terms& terms) {
  return terms.lapsed == Terms::Lapsed::taken_over && fingerprint == stored.fingerprint &&
         (!terms.only_over || *terms.only_over == stored.fence);
}

// A key whose first request may have taken effect stays that request's, even if a later attempt of it had no effect
// (G4).
bool kept_for_another(const Record& stored, const Fingerprint& fingerprint) {
  return stored.doubted && stored.fingerprint != fingerprint;
}

// An owner is granted a key once. A claim that the network delivers after its owner has ended it would hold the key for
// nobody.
bool ended_by(const Record& stored, std::uint64_t owner) {
  return stored.fence.owner == owner && stored.state != Record::State::running;
}

Record granted(const Record* free, const Key& key, const Fingerprint& fingerprint, const Terms& terms, Time now) {
  const bool doubted = free != nullptr && (free->doubted || free->state != Record::State::released);
  return Record{.key = key,
                .state = Record::State::running,
                .fence = {.number = free == nullptr ? 1 : free->fence.number + 1, .owner = terms.owner},
                .fingerprint = fingerprint,
                .claimed_at = now,
                .lease_until = now + terms.lease,
                .expires_at = now + terms.ttl,
                .response = nullptr,
                .doubted = doubted};
}

Held reported(const Record& stored, Time now) {
  Held held{.record = stored, .lease_left = Millis{0}, .left = std::max(stored.expires_at - now, Millis{0})};
  if (lapsed(stored, now)) {
    held.record.state = Record::State::unknown;
  } else if (stored.state == Record::State::running) {
    held.lease_left = stored.lease_until - now;
  }
  return held;
}

}  // namespace

bool expired(const Record& record, Time now) {
  return now >= record.expires_at && (record.state != Record::State::running || lapsed(record, now));
}

ClaimStep step_claim(const Record* stored, const Key& key, const Fingerprint& fingerprint, const Terms& terms,
                     Time now) {
  check(stored == nullptr || (stored->key == key && stored->state != Record::State::object),
        "a record is judged under its own key");
  if (stored != nullptr && expired(*stored, now)) stored = nullptr;

  const bool released = stored != nullptr && stored->state == Record::State::released;
  const bool open_outcome = stored != nullptr && (stored->state == Record::State::unknown || lapsed(*stored, now));
  const bool too_late = stored != nullptr && ended_by(*stored, terms.owner);
  const bool free = stored == nullptr || (released && !too_late && !kept_for_another(*stored, fingerprint)) ||
                    (open_outcome && !too_late && may_take_over(*stored, fingerprint, terms));
  if (free) {
    Record record = granted(stored, key, fingerprint, terms, now);
    const Granted answer{.fence = record.fence, .expires_at = record.expires_at};
    return {.answer = answer, .store = std::move(record)};
  }
  // The same owner asks again because the first answer was lost: the claim is its own.
  if (stored->state == Record::State::running && !open_outcome && stored->fence.owner == terms.owner) {
    return {.answer = Granted{.fence = stored->fence, .expires_at = stored->expires_at}, .store = std::nullopt};
  }
  Held held = reported(*stored, now);
  if (released && !too_late) held.record.state = Record::State::unknown;
  return {.answer = std::move(held), .store = std::nullopt};
}

OrderStep step_order(const Record* mark, const Record* latest, const Order& order, const Record& grant, Time now) {
  check(mark == nullptr || (mark->state == Record::State::object && mark->progress != nullptr),
        "an object has progress");
  const Record::Progress nothing;
  const Record::Progress& before = mark == nullptr ? nothing : *mark->progress;
  const bool runs = mark != nullptr && running(latest, before.fence, now);
  const bool done = mark != nullptr && ended_as(Record::State::done, latest, before.fence, now);

  std::string newest = mark == nullptr || expired(*mark, now) ? std::string() : before.newest;
  if (done) newest = std::max(newest, before.stamp);
  if (order.stamp < newest) return {.refusal = Superseded{}, .mark = std::nullopt};
  const bool together = runs && order.company != 0 && order.company == before.company;
  if (runs && !together) {
    Held other{.record = *latest, .lease_left = latest->lease_until - now};
    return {.refusal = Busy{.other = std::move(other)}, .mark = std::nullopt};
  }
  Record::Progress after{.newest = std::move(newest),
                         .stamp = together ? std::max(before.stamp, order.stamp) : order.stamp,
                         .event = grant.key.id,
                         .fence = grant.fence,
                         .company = order.company != 0 ? order.company : grant.fence.owner};
  Record next{.key = order.object,
              .state = Record::State::object,
              .fence = {},
              .fingerprint = {},
              .claimed_at = now,
              .lease_until = now,
              .expires_at = mark == nullptr ? grant.expires_at : std::max(mark->expires_at, grant.expires_at),
              .response = nullptr,
              .progress = std::make_shared<const Record::Progress>(std::move(after))};
  return {.refusal = std::nullopt, .mark = std::move(next)};
}

bool in_use(const Record& object, const Record* latest, Time now) {
  return object.state == Record::State::object && running(latest, object.progress->fence, now);
}

HolderStep step_renew(const Record* stored, Fence fence, Millis lease, Time now) {
  if (!running(stored, fence, now)) return fenced(stored, fence, now);
  Record next = *stored;
  next.lease_until = now + lease;
  return next;
}

HolderStep step_complete(const Record* stored, Fence fence, SharedResponse response, Time now) {
  const Record::State end = response == nullptr ? Record::State::unknown : Record::State::done;
  if (ended_as(end, stored, fence, now)) return std::nullopt;
  if (!running(stored, fence, now)) return fenced(stored, fence, now);
  Record next = *stored;
  next.state = end;
  next.response = std::move(response);
  return next;
}

HolderStep step_release(const Record* stored, Fence fence, Time now) {
  const bool doubted = stored != nullptr && stored->doubted;
  const Record::State end = doubted ? Record::State::unknown : Record::State::released;
  if (ended_as(end, stored, fence, now)) return std::nullopt;
  if (!running(stored, fence, now)) return fenced(stored, fence, now);
  Record next = *stored;
  next.state = end;
  return next;
}

std::optional<Held> step_look(const Record* stored, Time now) {
  if (stored == nullptr || expired(*stored, now)) return std::nullopt;
  return reported(*stored, now);
}

std::optional<Record> step_reopen(const Record* stored, Time now) {
  if (stored == nullptr || expired(*stored, now)) return std::nullopt;
  const bool ended =
      stored->state == Record::State::done || stored->state == Record::State::unknown || lapsed(*stored, now);
  if (!ended) return std::nullopt;
  Record next = *stored;
  next.doubted = stored->doubted || stored->state != Record::State::done;
  next.state = Record::State::released;
  next.fence.owner = 0;  // nobody's: whoever ended it may claim it again
  next.response = nullptr;
  return next;
}

HolderStep step_settle(const Record* stored, const Settlement& settlement, Time now) {
  const bool gone = stored == nullptr || stored->state == Record::State::object || expired(*stored, now);
  if (gone) return fail(Code::fenced, "there is no such key, or it has expired");
  const bool answered = settlement.verdict == Settlement::Verdict::done;
  const Record::State end = answered ? Record::State::done : Record::State::released;
  const Fence settled{.number = settlement.fence.number, .owner = settlement.act};
  if (ended_as(end, stored, settled, now)) return std::nullopt;
  if (stored->fence != settlement.fence) return fail(Code::fenced, "the key has moved on to another fence");
  const bool open_outcome = stored->state == Record::State::unknown || lapsed(*stored, now);
  const bool finished = stored->state == Record::State::done;
  if (settlement.verdict == Settlement::Verdict::reopened ? !finished : !open_outcome) {
    return fail(Code::fenced, finished ? "the key is finished" : "the key is not in a state that this act is for");
  }
  Record next = *stored;
  next.state = end;
  next.fence = settled;
  next.response = settlement.response;
  next.doubted = stored->doubted || open_outcome;
  return next;
}

}  // namespace semel::core
