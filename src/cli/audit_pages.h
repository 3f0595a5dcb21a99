// How an audit wakes somebody: through the inbox, as a request to a destination.
#pragma once

#include <functional>

#include "auditor/auditor.h"
#include "gateway/dispatcher.h"
#include <semel/result.h>

namespace semel::cli {

// Accepts a page durably, once under its key. Empty if there is no inbox. `dispatcher` outlives it.
std::function<Result<void>(const auditor::AuditPage&)> audit_pages(gateway::Dispatcher* dispatcher);

}  // namespace semel::cli
