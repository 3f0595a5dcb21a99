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

}  // namespace semel::gateway
