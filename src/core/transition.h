// How one record changes: the state machine of a key, without a clock, a lock or a disk.
//
// Each function takes the record that is stored under a key (null if there is none) and the time, and returns the
// answer to the caller and what must be stored. Stores that judge in this process (memory, embedded) call these inside
// their atomic step; the others must behave as if they did.
#pragma once

#include <optional>

#include "core/settlement.h"
#include <semel/key.h>
#include <semel/store.h>

namespace semel::core {

// Whether the record counts as absent. A running claim does not expire under a holder whose lease is alive: otherwise a
// second attempt could start beside it (G1).
bool expired(const Record& record, Time now);

struct ClaimStep {
  Claim answer;
  std::optional<Record> store;  // present when the claim was granted anew
};
ClaimStep step_claim(const Record* stored, const Key& key, const Fingerprint& fingerprint, const Terms& terms,
                     Time now);

// What the order of events makes of a claim that step_claim() would grant. `mark` is stored under the object's key,
// `latest` under the key of the event that the mark names; each is null if there is none.
struct OrderStep {
  std::optional<Claim> refusal;  // Superseded or Busy
  std::optional<Record> mark;    // otherwise: to be stored together with the grant
};
OrderStep step_order(const Record* mark, const Record* latest, const Order& order, const Record& grant, Time now);

// Whether the record of an object must stay although it has expired: the event that it names is still running.
bool in_use(const Record& object, const Record* latest, Time now);

// The steps of a holder: the record to store, null if the call repeats one that succeeded, or Code::fenced.
using HolderStep = Result<std::optional<Record>>;
HolderStep step_renew(const Record* stored, Fence fence, Millis lease, Time now);
HolderStep step_complete(const Record* stored, Fence fence, SharedResponse response, Time now);
HolderStep step_release(const Record* stored, Fence fence, Time now);

// What a look at the key reports, which changes nothing: none if it counts as absent. Unlike a claim, it also reports a
// record that was released.
std::optional<Held> step_look(const Record* stored, Time now);

// An operator lets an ended key run again: the record to store, or null if it is free or running.
std::optional<Record> step_reopen(const Record* stored, Time now);

// An operator settles a key. Code::fenced: the key is not in the state that the decision was made on; says which.
HolderStep step_settle(const Record* stored, const Settlement& settlement, Time now);

}  // namespace semel::core
