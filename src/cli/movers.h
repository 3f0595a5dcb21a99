// The movers of the outboxes that a configuration names, in the process of a gateway.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/config.h"
#include "gateway/dispatcher.h"
#include "telemetry/outbox_metrics.h"
#include <semel/clock.h>
#ifdef SEMEL_HAS_POSTGRES
#include "outbox/mover.h"
#endif

namespace semel::cli {

class Movers {
 public:
  // Both outlive it. The store of a gateway with an outbox has an inbox, which the configuration has made sure of.
  Movers(const config::Config& config, gateway::Dispatcher* dispatcher, Clock& clock, std::uint64_t seed);
  ~Movers();
  Movers(const Movers&) = delete;
  Movers& operator=(const Movers&) = delete;

  void start();
  // While the threads of the gateway still run: what is under way is ended.
  void stop();

  [[nodiscard]] std::vector<std::shared_ptr<const telemetry::OutboxMetrics>> metrics() const;

 private:
#ifdef SEMEL_HAS_POSTGRES
  std::vector<std::unique_ptr<outbox::Mover>> movers_;
#endif
};

}  // namespace semel::cli
