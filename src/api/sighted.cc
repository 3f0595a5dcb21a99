#include "api/sighted.h"

#include <optional>

#include "api/access.h"
#include "api/answer.h"
#include "api/work.h"
#include "telemetry/route_metrics.h"
#include "telemetry/sighting.h"
#include <semel/problem.h>

namespace semel::api {
namespace {

using telemetry::Ending;
using telemetry::Sighting;

Sighting of_key(const ApiJob& job, Sighting::Step step, Ending ending) {
  Sighting seen;
  seen.id = job.item.key.id;
  seen.step = step;
  seen.ending = ending;
  seen.status = job.answer.status;
  return seen;
}

std::optional<Sighting> of_refused(const ApiJob& job, ProblemType problem) {
  Sighting seen = of_key(job, Sighting::Step::request, Ending::refused);
  seen.problem = problem;
  return seen;
}

std::optional<Sighting> of_claim(const ApiJob& job) {
  switch (job.answer.outcome) {
    case ItemOutcome::granted: {
      Sighting seen = of_key(job, Sighting::Step::claimed, Ending::passed);
      seen.fence = job.fence;
      return seen;
    }
    case ItemOutcome::done:
      return of_key(job, Sighting::Step::request, Ending::replayed);
    case ItemOutcome::superseded:
      return of_key(job, Sighting::Step::request, Ending::superseded);
    case ItemOutcome::running:
    case ItemOutcome::busy:
      return of_refused(job, ProblemType::in_flight);
    case ItemOutcome::unknown:
      return of_refused(job, ProblemType::outcome_unknown);
    case ItemOutcome::key_reused:
      return of_refused(job, ProblemType::key_reused);
    default:
      return std::nullopt;
  }
}

std::optional<Sighting> of_end(const ApiJob& job) {
  if (job.answer.outcome != ItemOutcome::completed && job.answer.outcome != ItemOutcome::released) return std::nullopt;
  const bool released = job.answer.outcome == ItemOutcome::released;
  const bool known = job.item.response != nullptr;
  Sighting seen = of_key(job, Sighting::Step::ended,
                         released ? Ending::released
                         : known  ? Ending::ran
                                  : Ending::unknown);
  seen.fence = job.item.fence.number;
  if (known) seen.upstream_status = job.item.response->status;
  return seen;
}

}  // namespace

std::optional<Sighting> sighting_of(ApiCall call, const ApiJob& job) {
  if (call == ApiCall::claim) return of_claim(job);
  if (call == ApiCall::complete || call == ApiCall::release) return of_end(job);
  return std::nullopt;
}

}  // namespace semel::api
