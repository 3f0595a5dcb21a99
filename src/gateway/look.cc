// Which way a request goes, found out from its head first and from its body only where that is needed.
#include "gateway/look.h"

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/config.h"
#include "config/match.h"
#include "config/policy_document.h"
#include "gateway/bearer.h"
#include "gateway/body.h"
#include "gateway/clue.h"
#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/told.h"
#include "http/failure.h"
#include "policy/cors.h"
#include "policy/expression.h"
#include "policy/forward.h"
#include "policy/host.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "policy/route.h"
#include "telemetry/metrics.h"
#include "telemetry/sightings.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/http_request.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

using telemetry::Ending;

constexpr Millis no_wait{0};

// A key that is certainly not there: no need to hold the body back for it.
bool surely_keyless(const policy::Route& route, const policy::RequestView& request) {
  return route.key == KeyMode::off || (route.key == KeyMode::optional && route.mode == policy::Mode::enforce &&
                                       route.key_from.is_single(policy::PartKind::header) &&
                                       policy::lines_of(request.fields, route.key_from.parts.front().text).empty());
}

// mode = "observe": counts what would have happened, and touches nothing. Returns it in a word.
std::string_view observe(const Incoming& incoming, const policy::Route& route, const policy::Identified& identified) {
  using telemetry::Sightings;
  telemetry::RouteMetrics& metrics = incoming.plan.metrics_of(route);
  if (const auto* identity = std::get_if<policy::Identity>(&identified)) {
    const Sightings::Sight sight = incoming.services.sightings.look(identity->key, identity->fingerprint);
    if (sight == Sightings::Sight::same) metrics.would_replay.fetch_add(1, std::memory_order_relaxed);
    if (sight == Sightings::Sight::first) return "run";
    if (sight == Sightings::Sight::same) return "replay";
    metrics.would_refuse.fetch_add(1, std::memory_order_relaxed);
    return Problem::of(ProblemType::key_reused).slug();
  }
  const auto* const refusal = std::get_if<policy::Refusal>(&identified);
  if (refusal == nullptr) return "pass";
  metrics.would_refuse.fetch_add(1, std::memory_order_relaxed);
  return refusal->problem.slug();
}

Told told_refused(const Incoming& incoming, const policy::Refusal& refusal, const policy::Route& route,
                  const Bearer& bearer) {
  Told told = told_refusal(refusal.problem, no_wait, incoming.config().reply, refusal.detail, bearer.fault);
  if (refusal.problem.type == ProblemType::scope_missing && policy::needs_token(route)) {
    std::get<OwnReply>(told.reply).response.fields.push_back(challenge(bearer));
  }
  return told;
}

Told told_dropping(const std::string& name) {
  return told_plainly(Ending::malformed, 400, "The Connection field names " + name + ", which must not be dropped.");
}

// Which way a request goes whose body is there.
Way way_of(const Incoming& incoming, const policy::Route& route, const policy::RequestView& request,
           policy::Identified identified) {
  auto* const identity = std::get_if<policy::Identity>(&identified);
  if (route.mode == policy::Mode::observe) {
    WithoutKey observed{.target = &route.target, .request = request, .ending = Ending::observed};
    observed.would = observe(incoming, route, identified);
    if (identity != nullptr) {
      observed.clue = clue_of(incoming, *identity, request, observed.would != "run");
      observed.key = std::move(identity->key);
    }
    return observed;
  }
  if (const auto* refusal = std::get_if<policy::Refusal>(&identified)) {
    return told_refusal(refusal->problem, no_wait, incoming.config().reply, refusal->detail);
  }
  if (identity == nullptr) {
    return WithoutKey{.target = &route.target, .request = request, .ending = Ending::unkeyed};
  }
  return Job{.target = &route.target,
             .probe = route.probe ? &*route.probe : nullptr,
             .request = request,
             .identity = std::move(*identity),
             .resolved = route.resolved ? std::string_view(route.path.text) : std::string_view()};
}

bool asks_for_policy(const policy::RequestView& request) {
  return request.path == config::policy_document_path && (request.method == "GET" || request.method == "HEAD");
}

Told told_policy(const config::Config& config) {
  Told told{.ending = Ending::passed};
  Response response{.status = 200, .fields = {}, .body = config::policy_document(config)};
  response.fields.push_back({.name = "Content-Type", .value = "application/json"});
  response.fields.push_back({.name = "Cache-Control", .value = "max-age=300"});
  told.reply = OwnReply{.response = std::move(response)};
  return told;
}

}  // namespace

std::optional<Told> answer_here(const Incoming& incoming) {
  const config::ServerConfig& server = incoming.config().server;
  if (!policy::answers_to(server.hosts, incoming.host)) {
    return told_refusal(Problem::of(ProblemType::misdirected), no_wait, incoming.config().reply);
  }
  if (policy::goes_in_circles(incoming.request.fields, server.name)) {
    return told_plainly(Ending::malformed, 502,
                        "The request has been through this gateway before: an upstream points back at it.");
  }
  if (const auto dropped = policy::dropped_by_request(incoming.request.fields)) return told_dropping(*dropped);
  if (server.policy_document && asks_for_policy(incoming.request)) return told_policy(incoming.config());
  if (auto preflight = server.cors ? policy::answer_preflight(*server.cors, incoming.request) : std::nullopt) {
    Told told{.ending = Ending::passed, .detail = "preflight", .preflight = true};
    told.reply = OwnReply{.response = *std::move(preflight)};
    return told;
  }
  switch (policy::reach_of(incoming.request)) {
    case policy::Reach::onward:
      return std::nullopt;
    case policy::Reach::malformed:
      return told_plainly(Ending::malformed, 400, "Max-Forwards is not one number.");
    case policy::Reach::here:
      break;
  }
  Told told{.ending = Ending::passed};
  std::string passes = fmt::format("{}", fmt::join(config::usual_methods, ", "));
  for (const std::string& method : server.methods) passes += ", " + method;
  told.reply =
      OwnReply{.response = {.status = 200, .fields = {{.name = "Allow", .value = std::move(passes)}}, .body = {}}};
  return told;
}

Task<Way> look_at_request(const Incoming* incoming, const policy::Route* route, std::string* body) {
  policy::RequestView request = incoming->request;
  if (const auto dropped = policy::dropped_by_request(request.fields, *route)) co_return told_dropping(*dropped);
  if (surely_keyless(*route, request)) co_return Streamed{.target = &route->target};
  Bearer bearer;
  if (policy::needs_token(*route)) {
    bearer = co_await bearer_of(incoming);
    if (bearer.unknowable && route->mode == policy::Mode::enforce) co_return told_unknowable();
    request.claims = bearer.claims;
    request.no_claims = bearer.fault;
  }
  std::optional<policy::Keyed> keyed;
  if (!policy::needs_body(*route)) {
    keyed = policy::find_key(*route, request);
    const auto* refusal = std::get_if<policy::Refusal>(&*keyed);
    if (refusal != nullptr && route->mode == policy::Mode::enforce) {
      co_return told_refused(*incoming, *refusal, *route, bearer);
    }
  }
  http::Try<std::string> read = co_await read_body(*incoming);
  if (!read) co_return told_bad_body(*incoming, read.error());
  *body = *std::move(read);
  request.body = *body;
  if (!keyed) keyed = policy::find_key(*route, request);
  const auto* const late = std::get_if<policy::Refusal>(&*keyed);
  if (late != nullptr && route->mode == policy::Mode::enforce) {
    co_return told_refused(*incoming, *late, *route, bearer);
  }
  request.claims = request.no_claims = {};  // they end here
  co_return way_of(*incoming, *route, request, policy::identify(*route, request, *std::move(keyed)));
}

}  // namespace semel::gateway
