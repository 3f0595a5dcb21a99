// Asks an upstream what became of a request, for an operator who describes it: there is no client and no attempt here.
#pragma once

#include <memory>
#include <string>

#include "gateway/plan.h"
#include "policy/request_view.h"
#include <semel/async.h>
#include <semel/once.h>
#include <semel/result.h>

namespace semel::gateway {

// As the client sent it, as far as the probe of its route needs it.
struct ProbeQuestion {
  policy::RequestView request;  // what it points to outlives the answer
  std::string key_text;
};

// What the upstream says now, by the rules for probes (policy/keep.h). Code::invalid: the route has no probe, or the
// probe needs a part of the request that is not given. Code::unavailable: there was no whole answer.
Task<Result<Outcome>> ask_probe(std::shared_ptr<const Plan> plan, ProbeQuestion question);

// The same without the client's request: its target was made while that was there.
struct ProbeTarget {
  std::string route;          // its path, as it is configured
  std::string target;         // path and query
  std::string authorization;  // the field to send; empty if none
};

// An outcome that is unknown has the status of the answer; no response if the question went out, and no whole answer
// came. Code::unavailable: the upstream could not be reached. Code::invalid: there is no such route any more.
Task<Result<Outcome>> ask_target(std::shared_ptr<const Plan> plan, ProbeTarget asked);

}  // namespace semel::gateway
