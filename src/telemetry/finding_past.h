// Findings in the history of a store: each hour's, and what became of them.
#pragma once

#include <cstdint>
#include <vector>

#include "store/history.h"
#include "telemetry/finding.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::telemetry {

// Writes what was found by `now`; what the same process wrote in the same hour is replaced. At most a thousand of them.
Async<void> write_findings(store::History* history, std::vector<Finding> findings, std::uint64_t process, Time now);

// Those that were written in the span, merged. At most those of 10,000 rows.
Async<std::vector<Finding>> read_findings(store::History* history, store::HistorySpan span);

}  // namespace semel::telemetry
