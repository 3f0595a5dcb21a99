// What the test servers of both adapters share: a configuration of the gateway, read as rules for guards.
//
// The scenarios are written for the gateway's configuration files, so that is what the servers take. Their handlers
// forward to the upstream of the scenario: it plays the business code, and says byte by byte what that answers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "policy/pattern.h"
#include <semel/clock.h>
#include <semel/guard.h>
#include <semel/store.h>

namespace semel::test {

struct Place {
  policy::Pattern path;
  Guard guard;
  const config::UpstreamConfig* upstream;
};

struct Endpoints {
  std::shared_ptr<const config::Config> config;
  std::unique_ptr<Clock> clock;
  std::unique_ptr<Store> store;
  std::vector<Place> places;  // webhooks first, as in the gateway

  // Nothing: no such path.
  [[nodiscard]] const Place* find(std::string_view target) const;
};

// From the command line of `semel serve --config FILE`. Ends the program with a message where something is wrong.
Endpoints load_endpoints(int count, char** arguments);

// Prints what tests wait for, then sleeps until somebody asks the process to stop.
void announce(std::uint16_t port);

}  // namespace semel::test
