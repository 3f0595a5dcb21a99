// Asks the service itself: the probe of the route, as it was made when the request came, some at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "gateway/ask_probe.h"
#include "resolver/source.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/result.h>

namespace semel::resolver {

using AskTarget = std::function<Task<Result<Outcome>>(gateway::ProbeTarget)>;

struct ProbeTerms {
  std::string route;          // its path
  std::string authorization;  // the field to send; empty if none
  std::size_t concurrency = 1;
};

std::unique_ptr<Source> make_probe_source(Clock& clock, ProbeTerms terms, AskTarget ask);

// What the answer to a probe means.
Testimony testimony_of(const Result<Outcome>& answer);

}  // namespace semel::resolver
