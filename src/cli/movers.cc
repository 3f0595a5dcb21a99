// A build without PostgreSQL refuses a configuration with an [[outbox]], so it has nothing to move.
#include "cli/movers.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"
#include "gateway/dispatcher.h"
#include "telemetry/outbox_metrics.h"
#include <semel/clock.h>
#ifdef SEMEL_HAS_POSTGRES
#include "outbox/mover.h"
#endif

namespace semel::cli {

#ifdef SEMEL_HAS_POSTGRES

Movers::Movers(const config::Config& config, gateway::Dispatcher* dispatcher, Clock& clock, std::uint64_t seed) {
  if (dispatcher == nullptr) return;
  const auto say = [](const std::string& line) { fmt::print(stderr, "semel: {}\n", line); };
  for (const config::OutboxConfig& outbox : config.outboxes) {
    movers_.push_back(std::make_unique<outbox::Mover>(clock, *dispatcher, outbox, seed, say));
  }
}

void Movers::start() {
  for (const auto& mover : movers_) mover->start();
}

void Movers::stop() {
  for (const auto& mover : movers_) mover->stop();
}

std::vector<std::shared_ptr<const telemetry::OutboxMetrics>> Movers::metrics() const {
  std::vector<std::shared_ptr<const telemetry::OutboxMetrics>> all;
  all.reserve(movers_.size());
  for (const auto& mover : movers_) all.push_back(mover->metrics());
  return all;
}

#else

Movers::Movers(const config::Config& /*config*/, gateway::Dispatcher* /*dispatcher*/, Clock& /*clock*/,
               std::uint64_t /*seed*/) {}
void Movers::start() {}
void Movers::stop() {}
std::vector<std::shared_ptr<const telemetry::OutboxMetrics>> Movers::metrics() const {
  return {};
}

#endif

Movers::~Movers() = default;

}  // namespace semel::cli
