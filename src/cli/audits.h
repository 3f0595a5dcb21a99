// The audits of a gateway: made from its configuration and its store.
#pragma once

#include <memory>
#include <string>

#include "auditor/auditor.h"
#include "config/config.h"
#include "gateway/gateway.h"
#include "store/desk.h"
#include "store/history.h"
#include "store/key_roll.h"
#include "store/lookup.h"
#include "store/notes.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {

// What of the store audits use; taken before a gateway owns it.
struct AuditedStore {
  store::Lookup* lookup = nullptr;
  store::Desk* desk = nullptr;
  store::History* history = nullptr;
  store::KeyRoll* roll = nullptr;
  store::Notes* notes = nullptr;
};

// Null if there is no [[audit]]. To be ended before the gateway drains. Code::invalid: one of them cannot work, such as
// with a role that may write.
Result<std::unique_ptr<auditor::Auditor>> open_audits(const config::Config& config, const AuditedStore& store,
                                                      gateway::Gateway& gateway, Clock& clock);

// What `semel check` says of them: `FILE:LINE:COLUMN: error: …` for each that is wrong, printed. False if any is.
bool check_audits(const config::Config& config, const std::string& path, const Clock& clock);

}  // namespace semel::cli
