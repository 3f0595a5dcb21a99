// What concerns a request whatever its path is: whether it is meant for us, has been here before, or ends here.
#include <optional>

#include "gateway/exchange.h"
#include "gateway/metrics.h"
#include "policy/config.h"
#include "policy/forward.h"
#include "policy/host.h"
#include "policy/reply.h"
#include <semel/clock.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel {
namespace {

// Everything passes that HTTP knows, but for CONNECT and TRACE.
constexpr const char* passes = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

}  // namespace

std::optional<Response> Exchange::answer_here() {
  if (!answers_to(config().server.hosts, host_)) {
    note(Ending::refused);
    problem_ = ProblemType::misdirected;
    return problem_reply(Problem::of(*problem_), Millis{0}, config().reply);
  }
  if (goes_in_circles(request_.fields, config().server.name)) {
    return plain_reply(502, "The request has been through this gateway before: an upstream points back at it.");
  }
  switch (reach_of(request_)) {
    case Reach::onward:
      return std::nullopt;
    case Reach::malformed:
      return plain_reply(400, "Max-Forwards is not one number.");
    case Reach::here:
      break;
  }
  note(Ending::passed);
  return Response{.status = 200, .fields = {{.name = "Allow", .value = passes}}, .body = {}};
}

}  // namespace semel
