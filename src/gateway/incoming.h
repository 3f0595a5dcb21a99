// A request as it came, and who answers it. None of this changes while it is being answered.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "config/config.h"
#include "core/check.h"
#include "gateway/plan.h"
#include "gateway/services.h"
#include "http/transaction.h"
#include "policy/request_view.h"

namespace semel::gateway {

struct Incoming {
  const Services& services;
  const Plan& plan;
  http::Transaction& client;
  std::chrono::nanoseconds started;
  std::string_view host;        // what the client called us: its Host field or the authority of its target
  policy::RequestView request;  // without its body

  [[nodiscard]] const config::Config& config() const { return *plan.config; }
  [[nodiscard]] http::Upstream& upstream(std::size_t at) const {
    core::check(at < plan.upstreams.size(), "a target's upstream is one of its plan's configuration");
    return *plan.upstreams[at];
  }
};

Incoming incoming_of(const Services& services, const Plan& plan, http::Transaction& client);

}  // namespace semel::gateway
