// Runs a gateway in this process until it is told to stop: shared by `serve` and `demo`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "config/config.h"
#include "gateway/gateway.h"

namespace semel::cli {

struct Ports {
  std::uint16_t gateway = 0;
  std::uint16_t admin = 0;  // 0 if there is no admin listener
  std::uint16_t api = 0;    // 0 if there is no claims API
};

struct ServeHooks {
  std::function<void(const Ports&)> started;                          // when it listens
  std::function<std::shared_ptr<const config::Config>()> new_config;  // on SIGHUP; null if the old one stays
  std::function<void()> draining;                                     // when no more connections are accepted
  std::function<void(gateway::Gateway&)> ended;                       // when the last request has been answered
};

// Call take_over_signals() first. Returns the exit code.
int run_gateway(const std::shared_ptr<const config::Config>& config, const ServeHooks& hooks);

}  // namespace semel::cli
