#include "cli/background.h"

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <utility>

#include "cli/audits.h"
#include "cli/movers.h"
#include "cli/resolving.h"
#include "config/config.h"
#include "gateway/gateway.h"
#include "telemetry/outbox_metrics.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {

Result<std::unique_ptr<Background>> Background::open(const config::Config& config, const BackgroundStore& store,
                                                     gateway::Gateway& gateway, Clock& clock, std::uint64_t seed) {
  auto movers = std::make_unique<Movers>(config, gateway.dispatcher(), clock, seed);
  const AuditedStore audited{
      .lookup = store.lookup, .desk = store.desk, .history = store.history, .roll = store.roll, .notes = store.notes};
  auto audits = open_audits(config, audited, gateway, clock);
  if (!audits) return std::unexpected(audits.error());
  const ResolverStore resolved{.desk = store.desk, .audit = store.audit, .history = store.history};
  auto resolvers = make_resolvers(config, resolved, gateway, clock);
  if (!resolvers) return std::unexpected(resolvers.error());
  return std::unique_ptr<Background>(
      new Background(gateway, std::move(movers), *std::move(audits), *std::move(resolvers)));
}

void Background::start() {
  movers_->start();
  if (audits_ != nullptr) audits_->start();
  if (resolvers_ != nullptr) resolvers_->start();
}

void Background::stop() {
  movers_->stop();
  if (audits_ != nullptr) audits_->end();
  if (resolvers_ != nullptr) resolvers_->end();
}

void Background::render(std::string& out) const {
  if (audits_ != nullptr) audits_->render(out);
  telemetry::render_outboxes(out, movers_->metrics());
  render_resolvers(out, resolvers_.get(), gateway_);
}

}  // namespace semel::cli
