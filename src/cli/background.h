// What a gateway does beside answering requests: it moves outboxes, audits effects, and resolves unknown outcomes.
//
// Each of these has threads of its own. They are ended before the gateway drains, because they use its threads; what
// the store still ends then is posted here, so this outlives the gateway.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "auditor/auditor.h"
#include "cli/movers.h"
#include "config/config.h"
#include "gateway/gateway.h"
#include "resolver/resolvers.h"
#include "store/audit_log.h"
#include "store/capable_store.h"
#include "store/desk.h"
#include "store/history.h"
#include "store/key_roll.h"
#include "store/lookup.h"
#include "store/notes.h"
#include "telemetry/outbox_metrics.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {

// What of the store it uses; taken before a gateway owns it. Null where the store has none.
struct BackgroundStore {
  explicit BackgroundStore(const store::CapableStore& store)
      : lookup(store.lookup),
        desk(store.desk),
        audit(store.audit),
        history(store.history),
        roll(store.roll),
        notes(store.notes) {}

  store::Lookup* lookup;
  store::Desk* desk;
  store::AuditLog* audit;
  store::History* history;
  store::KeyRoll* roll;
  store::Notes* notes;
};

class Background {
 public:
  // Code::invalid: the store, this program or a database has not what one of them needs.
  static Result<std::unique_ptr<Background>> open(const config::Config& config, const BackgroundStore& store,
                                                  gateway::Gateway& gateway, Clock& clock, std::uint64_t seed);

  void start();
  void stop();

  // For /metrics.
  void render(std::string& out) const;
  [[nodiscard]] auditor::Auditor* audits() const { return audits_.get(); }  // null if there are none
  [[nodiscard]] std::vector<std::shared_ptr<const telemetry::OutboxMetrics>> outboxes() const {
    return movers_->metrics();
  }

 private:
  Background(const gateway::Gateway& gateway, std::unique_ptr<Movers> movers, std::unique_ptr<auditor::Auditor> audits,
             std::unique_ptr<resolver::Resolvers> resolvers)
      : gateway_(gateway), movers_(std::move(movers)), audits_(std::move(audits)), resolvers_(std::move(resolvers)) {}

  const gateway::Gateway& gateway_;
  std::unique_ptr<Movers> movers_;
  std::unique_ptr<auditor::Auditor> audits_;        // null if there are none
  std::unique_ptr<resolver::Resolvers> resolvers_;  // the same
};

}  // namespace semel::cli
