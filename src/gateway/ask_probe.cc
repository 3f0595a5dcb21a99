#include "gateway/ask_probe.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "config/config.h"
#include "config/match.h"
#include "core/field_view.h"
#include "gateway/attempt.h"
#include "gateway/plan.h"
#include "gateway/upstream_head.h"
#include "http/call.h"
#include "policy/expression.h"
#include "policy/forward.h"
#include "policy/request_view.h"
#include "policy/route.h"
#include "reading/address.h"
#include <semel/async.h>
#include <semel/once.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::gateway {
namespace {

// The name by which clients call us: what the operator says, or the upstream's own.
std::string host_of(const policy::RequestView& request, const config::UpstreamConfig& upstream) {
  const auto lines = policy::lines_of(request.fields, "Host");
  return lines.empty() ? reading::host_field(upstream.urls.front()) : std::string(lines.front());
}

Task<Result<Outcome>> ask(std::shared_ptr<const Plan> plan, const policy::Route* route, policy::RequestView request,
                          std::string target) {
  const config::Config& config = *plan->config;
  const config::UpstreamConfig& upstream = config.upstreams[route->target.upstream];
  const std::string host = host_of(request, upstream);
  const policy::Hop hop{.scheme = config.server.tls ? "https" : "http",
                        .host = host,
                        .version = "1.1",
                        .via = config.server.name,
                        .forwarded = config.server.forwarded,
                        .overrides = config.server.overrides};
  Attempt asking(*plan->upstreams[route->target.upstream], upstream, route->target, config.reply.replayed_header);
  std::string head = probe_head(upstream, request, hop, target);
  Outcome outcome = co_await asking.ask(std::move(head));
  if (asking.end() == http::CallEnd::not_reached) {
    co_return fail(Code::unavailable, "the upstream cannot be reached");
  }
  if (outcome.verdict == Verdict::unknown && asking.end() == http::CallEnd::answered) {
    auto said = std::make_shared<Response>();
    said->status = asking.answer().status();
    outcome.response = std::move(said);
  }
  co_return outcome;
}

}  // namespace

Task<Result<Outcome>> ask_probe(std::shared_ptr<const Plan> plan, ProbeQuestion question) {
  const config::Config& config = *plan->config;
  const config::Match matched = config::match(config, question.request.method, question.request.path);
  const auto* guarded = std::get_if<config::Guarded>(&matched);
  if (guarded == nullptr) co_return fail(Code::invalid, "route: no route guards this request");
  const policy::Route& route = *guarded->route;
  if (!route.probe) co_return fail(Code::invalid, "from: the route has no probe");
  const auto target = policy::render_target(*route.probe, question.request, question.key_text);
  if (!target) co_return fail(Code::invalid, "fields: the probe of the route needs more; " + target.error().detail);
  Result<Outcome> outcome = co_await ask(plan, &route, question.request, *target);
  const bool cut = outcome && outcome->verdict == Verdict::unknown && outcome->response == nullptr;
  if (cut) co_return fail(Code::unavailable, "the upstream gave no whole answer to the probe");
  co_return outcome;
}

Task<Result<Outcome>> ask_target(std::shared_ptr<const Plan> plan, ProbeTarget asked) {
  const config::Config& config = *plan->config;
  const auto has_path = [&](const policy::Route& each) { return each.path.text == asked.route; };
  const auto route = std::ranges::find_if(config.routes, has_path);
  if (route == config.routes.end()) co_return fail(Code::invalid, "route: there is no such route any more");
  const FieldView field{.name = "Authorization", .value = asked.authorization};
  policy::RequestView request;
  request.method = "GET";
  policy::set_target(request, asked.target);
  if (!asked.authorization.empty()) request.fields = {&field, 1};
  co_return co_await ask(plan, &*route, request, asked.target);
}

}  // namespace semel::gateway
