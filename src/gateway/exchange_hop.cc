// What concerns a request whatever its path is: whether it is meant for us, has been here before, or ends here.
#include <optional>

#include "config/config.h"
#include "gateway/exchange.h"
#include "policy/forward.h"
#include "policy/host.h"
#include "policy/reply.h"
#include "telemetry/metrics.h"
#include <semel/clock.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

// Everything passes that HTTP knows, but for CONNECT and TRACE.
constexpr const char* passes = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

}  // namespace

std::optional<Response> Exchange::answer_here() {
  if (!policy::answers_to(config().server.hosts, host_)) {
    note(telemetry::Ending::refused);
    problem_ = ProblemType::misdirected;
    return policy::problem_reply(Problem::of(*problem_), Millis{0}, config().reply);
  }
  if (policy::goes_in_circles(request_.fields, config().server.name)) {
    return policy::plain_reply(502, "The request has been through this gateway before: an upstream points back at it.");
  }
  switch (policy::reach_of(request_)) {
    case policy::Reach::onward:
      return std::nullopt;
    case policy::Reach::malformed:
      return policy::plain_reply(400, "Max-Forwards is not one number.");
    case policy::Reach::here:
      break;
  }
  note(telemetry::Ending::passed);
  return Response{.status = 200, .fields = {{.name = "Allow", .value = passes}}, .body = {}};
}

}  // namespace semel::gateway
