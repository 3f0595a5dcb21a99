// One request, top to bottom. Read this first.
//
//   route → (not guarded: stream it through) → body, bounded → (webhooks: signature) → identify: key and fingerprint →
//   once(): claim, decide, attempt at the upstream, complete or release → reply
//
// What is durable when: the claim before attempt() writes its first byte, the outcome before tell() writes its first.
#include "gateway/exchange.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "config/config.h"
#include "config/match.h"
#include "gateway/attempt.h"
#include "gateway/plan.h"
#include "gateway/replay_cache.h"
#include "gateway/sink.h"
#include "http/call.h"
#include "http/failure.h"
#include "http/transaction.h"
#include "http/writer.h"
#include "policy/expression.h"
#include "policy/forward.h"
#include "policy/identify.h"
#include "policy/keep.h"
#include "policy/reply.h"
#include "policy/request_view.h"
#include "runtime/failpoint.h"
#include "telemetry/metrics.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/http_request.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::gateway {
namespace {

constexpr Millis no_wait{0};
constexpr Millis a_day{86'400'000};

// The target without scheme and authority, which an absolute-form target has (RFC 9112 §3.2.2).
std::string_view origin_form(std::string_view target, std::string_view& host) {
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return target;
  const std::string_view rest = target.substr(scheme + 3);
  const std::size_t slash = rest.find_first_of("/?");
  host = rest.substr(0, slash);
  return slash == std::string_view::npos ? std::string_view("/") : rest.substr(slash);
}

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// A key that is certainly not there: no need to hold the body back for it.
bool surely_keyless(const policy::Route& route, const policy::RequestView& request) {
  return route.key == KeyMode::off || (route.key == KeyMode::optional && route.mode == policy::Mode::enforce &&
                                       route.key_from.is_single(policy::PartKind::header) &&
                                       policy::lines_of(request.fields, route.key_from.parts.front().text).empty());
}

}  // namespace

Exchange::Exchange(const Services& services, std::shared_ptr<const Plan> plan, http::Transaction& client)
    : services_(services),
      plan_(std::move(plan)),
      client_(client),
      started_(services.clock.stopwatch()),
      host_(client.head().find("Host").value_or("")),
      route_metrics_(plan_->no_route) {
  request_.method = client.head().method();
  request_.fields = client.head().fields();
  request_.ip = client.peer();
  request_.client_subject = client.client_subject();
  policy::set_target(request_, origin_form(client.head().target(), host_));
}

Task<void> Exchange::run() {
  const config::Match matched = config::match(config(), request_.method, request_.path);
  if (std::optional<Response> reply = answer_here()) {
    co_await send(*std::move(reply));
  } else if (const auto* guarded = std::get_if<config::Guarded>(&matched)) {
    route_metrics_ = &plan_->metrics_of(*guarded->route);
    co_await guard(guarded->route);
  } else if (const auto* open = std::get_if<config::Unguarded>(&matched)) {
    route_metrics_ = &plan_->metrics_of(*open->route);
    co_await pass(open->route);
  } else if (const auto* call = std::get_if<config::WebhookCall>(&matched)) {
    route_metrics_ = &plan_->metrics_of(*call->webhook);
    co_await receive(call->webhook);
  } else if (const auto* doubtful = std::get_if<config::DoubtfulPath>(&matched)) {
    Response refusal = policy::plain_reply(
        400, "The path holds " + std::string(doubtful->why) + ", which programs read in different ways.");
    co_await send(std::move(refusal));
  } else if (std::holds_alternative<config::MisspelledMethod>(matched)) {
    Response refusal = policy::plain_reply(400, config::misspelled_detail);
    co_await send(std::move(refusal));
  } else {
    co_await refuse(ProblemType::no_route);
  }
  write_log();
}

Task<void> Exchange::guard(const policy::Route* route) {
  runtime::failpoint("P1");
  if (const auto dropped = policy::dropped_by_request(request_.fields, *route)) {
    Response refusal =
        policy::plain_reply(400, "The Connection field names " + *dropped + ", which must not be dropped.");
    co_await send(std::move(refusal));
    co_return;
  }
  if (surely_keyless(*route, request_)) {
    co_await pass(route);
    co_return;
  }
  std::optional<policy::Keyed> keyed;
  if (!policy::needs_body(*route)) {
    keyed = policy::find_key(*route, request_);
    const auto* refusal = std::get_if<policy::Refusal>(&*keyed);
    if (refusal != nullptr && route->mode == policy::Mode::enforce) {
      co_await refuse(refusal->problem, no_wait, refusal->detail);
      co_return;
    }
  }
  if (!co_await read_body()) co_return;

  if (!keyed) keyed = policy::find_key(*route, request_);
  policy::Identified identified = policy::identify(*route, request_, *std::move(keyed));
  if (route->mode == policy::Mode::observe) {
    observe(*route, identified);
    co_await forward_unguarded(&route->target, telemetry::Ending::observed);
  } else if (auto* identity = std::get_if<policy::Identity>(&identified)) {
    co_await run_once(&route->target, std::move(*identity), route->probe ? &*route->probe : nullptr);
  } else if (const auto* refusal = std::get_if<policy::Refusal>(&identified)) {
    co_await refuse(refusal->problem, no_wait, refusal->detail);
  } else {
    co_await forward_unguarded(&route->target, telemetry::Ending::unkeyed);
  }
}

// The whole body, bounded. False: there is none, and the client has been told.
Task<bool> Exchange::read_body() {
  http::Try<std::string> body = co_await client_.read_whole_body(config().limits.body_bytes);
  if (body) {
    body_ = *std::move(body);
    request_.body = body_;
    co_return true;
  }
  co_await refuse_body(body.error());
  co_return false;
}

Task<void> Exchange::refuse_body(http::Failure why) {
  client_.close_after();
  if (why == http::Failure::too_large) {
    co_await refuse(ProblemType::body_too_large);
  } else if (why == http::Failure::malformed) {
    Response refusal = policy::plain_reply(400, "The body is not framed as HTTP/1.1 says.");
    co_await send(std::move(refusal));
  } else if (why == http::Failure::timed_out) {
    give_client_up(why);
    Response refusal = policy::plain_reply(408, "The body did not arrive in time.", Problem::Retry::same_key);
    co_await send(std::move(refusal));
  }
}

Task<void> Exchange::run_once(const policy::Target* target, policy::Identity identity,
                              const policy::Expression* question) {
  key_ = identity.key;
  if (const ReplayCache::Entry* hot = services_.replays.find(identity.key)) {
    Answer answer = Refused{.problem = Problem::of(ProblemType::key_reused), .retry_after = Millis{0}, .detail = {}};
    if (hot->fingerprint == identity.fingerprint) {
      answer = Replayed{.response = hot->response, .fence = hot->fence, .expires_at = hot->expires_at};
    }
    co_await tell(std::move(answer), nullptr);
    co_return;
  }
  if (over_quota()) {
    co_await refuse(Problem::of(over_quota_->problem), over_quota_->retry_after);
    co_return;
  }
  guarded_by_ = &target->policy;
  services_.metrics.in_flight.fetch_add(1, std::memory_order_relaxed);
  Action act = [this, target](Fence fence) { return attempt(target, fence); };
  Probe ask;
  if (question != nullptr) {
    ask = [this, target, question, text = identity.key_text] { return probe(target, question, text); };
  }
  watch_store(target);
  asked_ = services_.clock.stopwatch();
  Answer answer = co_await services_.once.run(identity.key, identity.fingerprint, target->policy, std::move(act),
                                              std::move(ask), identity.order);
  services_.metrics.in_flight.fetch_sub(1, std::memory_order_relaxed);
  if (given_up_) {
    co_await given_up_->wait(a_day);  // it is bounded by what it waits for itself
    co_return;
  }
  client_.silence();
  if (attempt_) {
    const std::chrono::nanoseconds attempt_ended = attempt_began_ + upstream_time_;
    services_.metrics.complete_seconds.add(seconds(services_.clock.stopwatch() - attempt_ended));
  }

  const auto* refused = std::get_if<Refused>(&answer);
  if (refused != nullptr && refused->problem.type == ProblemType::store_unavailable) {
    services_.metrics.store_errors.fetch_add(1, std::memory_order_relaxed);
    if (target->on_store_down == policy::OnStoreDown::forward) {
      co_await forward_unguarded(target, telemetry::Ending::unkeyed);
      co_return;
    }
  }
  co_await tell(std::move(answer), &identity);
}

Task<Outcome> Exchange::attempt(const policy::Target* target, Fence fence) {
  if (given_up_) co_return Outcome{.verdict = Verdict::release, .response = std::make_shared<Response>()};
  client_.silence();
  if (!admit(*target)) co_return Outcome{.verdict = Verdict::release, .response = std::make_shared<Response>()};
  runtime::failpoint("P4");
  attempt_began_ = services_.clock.stopwatch();
  services_.metrics.claim_seconds.add(seconds(attempt_began_ - asked_));
  attempt_.emplace(*plan_->upstreams[target->upstream], config().upstreams[target->upstream], *target,
                   config().reply.replayed_header);
  Outcome outcome = co_await attempt_->run(head_for_upstream(*target, fence.number), body_);
  upstream_time_ = services_.clock.stopwatch() - attempt_began_;
  services_.metrics.upstream_seconds.add(seconds(upstream_time_));
  if (attempt_->end() == http::CallEnd::not_reached) detail_ = plan_->upstreams[target->upstream]->trouble();
  if (attempt_->bad_outcome_field()) route_metrics_->bad_outcome_fields.fetch_add(1, std::memory_order_relaxed);
  const bool kept = outcome.verdict == Verdict::keep;
  if (kept && acknowledges(attempt_->answer().status())) outcome.response = acknowledgement();
  settle(*target, outcome);
  // Nothing was sent, or nobody answered: once() is told what that means for the key, and tell_first() tells the
  // caller.
  if (outcome.response == nullptr) outcome.response = std::make_shared<Response>();
  co_return outcome;
}

Task<Outcome> Exchange::probe(const policy::Target* target, const policy::Expression* question, std::string key_text) {
  const auto asked = policy::render_target(*question, request_, key_text);
  if (!asked || given_up_) co_return Outcome{};
  client_.silence();
  Attempt asking(*plan_->upstreams[target->upstream], config().upstreams[target->upstream], *target,
                 config().reply.replayed_header);
  Outcome outcome = co_await asking.ask(head_for_probe(*target, *asked));
  watch_store(target);
  co_return outcome;
}

Task<void> Exchange::tell(Answer answer, const policy::Identity* identity) {
  if (auto* ran = std::get_if<Ran>(&answer)) return tell_first(std::move(*ran));
  return tell_later(std::move(answer), identity);
}

Task<void> Exchange::tell_later(Answer answer, const policy::Identity* identity) {
  if (auto* replayed = std::get_if<Replayed>(&answer)) {
    fence_ = replayed->fence.number;
    Result<Response> reply = policy::replay_head(*replayed->response, replayed->expires_at, config().reply);
    if (!reply) {
      co_await refuse(ProblemType::record_corrupt);
      co_return;
    }
    if (identity != nullptr) {  // from the store: most keys are never asked for again, this one was
      services_.replays.put(identity->key, identity->fingerprint, replayed->response, replayed->fence,
                            replayed->expires_at);
    }
    note(telemetry::Ending::replayed);
    co_await send(*std::move(reply), replayed->response);
  } else if (std::holds_alternative<Superseded>(answer)) {
    co_await tell_superseded();
  } else {
    auto& refused = std::get<Refused>(answer);
    detail_ = std::move(refused.detail);
    co_await refuse(refused.problem, refused.retry_after);
    if (attempt_) note(telemetry::Ending::unknown);
  }
}

// The first caller gets the upstream's own answer, or hears how far the request got.
Task<void> Exchange::tell_first(Ran ran) {
  fence_ = ran.fence.number;
  if (over_quota_) {
    co_await refuse(Problem::of(over_quota_->problem), over_quota_->retry_after);
    co_return;
  }
  const bool kept = ran.outcome.verdict == Verdict::keep;
  if (attempt_->end() != http::CallEnd::answered) {
    co_await tell_unreached(attempt_->end(), guarded_by_);
    co_return;
  }
  note(kept                                      ? telemetry::Ending::ran
       : ran.outcome.verdict == Verdict::release ? telemetry::Ending::released
                                                 : telemetry::Ending::unknown);
  const http::Head& answer = attempt_->answer();
  if (kept && acknowledges(answer.status())) {
    Response reply = *ran.outcome.response;
    reply.fields.push_back(policy::expires_mark(ran.expires_at));
    co_await send(std::move(reply));
    co_return;
  }
  const auto fields = [&](http::HeadWriter& out) {
    policy::to_client(answer.fields(), config().reply.replayed_header, into(out));
    if (!kept) return;
    const Field mark = policy::expires_mark(ran.expires_at);
    out.field(mark.name, mark.value);
  };
  if (!attempt_->goes_on()) {
    const http::Try<void> sent = co_await client_.reply(answer.status(), fields, attempt_->body());
    if (!sent) give_client_up(sent.error());
    co_return;
  }
  const http::Transaction::Form form{.framing = answer.framing(), .length = answer.length()};
  http::Try<void> sent = co_await client_.start_reply(answer.status(), fields, form, attempt_->body());
  while (sent) {
    client_.await_more();
    const http::Try<std::string_view> piece = co_await attempt_->call().read_body();
    if (!piece) {
      client_.cut_reply();
      co_return;
    }
    if (piece->empty()) {
      attempt_->call().finish();
      sent = co_await client_.end_reply();
      break;
    }
    sent = co_await client_.continue_reply(*piece);
  }
  if (!sent) give_client_up(sent.error());
}

}  // namespace semel::gateway
