#include "gateway/body.h"

#include <atomic>
#include <string>

#include <fmt/format.h>

#include "gateway/incoming.h"
#include "gateway/told.h"
#include "http/failure.h"
#include "reading/units.h"
#include "telemetry/metrics.h"
#include <semel/clock.h>
#include <semel/problem.h>

namespace semel::gateway {

http::Attempted<std::string> read_body(const Incoming& incoming) {
  return incoming.client.read_whole_body(incoming.config().limits.body_bytes);
}

Told told_bad_body(const Incoming& incoming, http::Failure why) {
  using telemetry::Ending;
  Told told;  // a client that is gone hears nothing
  if (why == http::Failure::too_large) {
    const std::string what = fmt::format(
        "The body is over {}, the limit for requests that Semel reads as a whole (limits.body_bytes); the request did "
        "not run.",
        reading::bytes_text(incoming.config().limits.body_bytes));
    told = told_refusal(Problem::of(ProblemType::body_too_large), Millis{0}, incoming.config().reply, what);
  } else if (why == http::Failure::malformed) {
    told = told_plainly(Ending::malformed, 400, "The body is not framed as HTTP/1.1 says.");
  } else if (why == http::Failure::timed_out) {
    incoming.services.metrics.clients.slow.fetch_add(1, std::memory_order_relaxed);
    told = told_plainly(Ending::malformed, 408, "The body did not arrive in time.", Problem::Retry::same_key);
  }
  told.close = true;
  return told;
}

}  // namespace semel::gateway
