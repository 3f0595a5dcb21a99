// The resolvers of a gateway, from its configuration.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "gateway/gateway.h"
#include "resolver/resolvers.h"
#include "store/audit_log.h"
#include "store/desk.h"
#include "store/history.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {

// What they need of the store; null where it has none.
struct ResolverStore {
  store::Desk* desk;
  store::AuditLog* audit;
  store::History* history;
};

// Null if the configuration has none. Code::invalid: the store, or this program, has not what they need. All that is
// passed outlives them, but for the gateway, with its store, which goes before them: end() is called before that.
Result<std::unique_ptr<resolver::Resolvers>> make_resolvers(const config::Config& config, const ResolverStore& store,
                                                            gateway::Gateway& gateway, Clock& clock);

// What `semel check` says of them: `FILE:LINE:COLUMN: error: …` for each whose database refuses the query, printed.
// False if any does. A database that cannot be asked is a warning.
bool check_resolvers(const config::Config& config, const std::string& path, const Clock& clock);

// For /metrics; nothing if there are none.
void render_resolvers(std::string& out, const resolver::Resolvers* resolvers, const gateway::Gateway& gateway);

}  // namespace semel::cli
