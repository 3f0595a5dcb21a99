// Minutes become hours, hours become days, and what is too old is dropped.
//
// Every process on a store does all of it, from the rows of all of them. A row that was made once is made again with
// the same number, so nothing is counted twice, whoever was first. An hour is summed up for half an hour after its end,
// for those whose last minutes came late.
#pragma once

#include "store/history.h"
#include "telemetry/tally_ledger.h"
#include "telemetry/tally_past.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::telemetry {

// One pass; call it every few minutes. Both outlive it.
Async<void> roll_up(const TallyLedger* ledger, store::History* history, Time now);

// Drops what is older than each kind is kept. Call it about once an hour.
Async<void> prune_history(store::History* history, Time now);

}  // namespace semel::telemetry
