// Runs a gateway in this process until it is told to stop: shared by `serve` and `demo`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "config/config.h"
#include "gateway/gateway.h"

namespace semel::cli {

struct ServeHooks {
  std::function<void(const gateway::Gateway&)> started;               // when it listens
  std::function<std::shared_ptr<const config::Config>()> new_config;  // on SIGHUP; nothing: keep the old one
  std::function<void(gateway::Gateway&)> ended;                       // when the last request has been answered
};

// Call take_over_signals() first. Returns the exit code.
int run_gateway(const std::shared_ptr<const config::Config>& config, const ServeHooks& hooks);

}  // namespace semel::cli
