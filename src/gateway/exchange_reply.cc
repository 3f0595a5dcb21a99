// The small change of an exchange: heads that go up, replies that come down, the log line at the end.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include "config/config.h"
#include "core/ascii.h"
#include "gateway/attempt.h"
#include "gateway/exchange.h"
#include "gateway/relay.h"
#include "gateway/sink.h"
#include "http/call.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/writer.h"
#include "policy/forward.h"
#include "policy/identify.h"
#include "policy/keep.h"
#include "policy/reply.h"
#include "reading/address.h"
#include "runtime/pause.h"
#include "telemetry/histogram.h"
#include "telemetry/metrics.h"
#include "telemetry/observer.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

constexpr Millis retry_after_unreached{1'000};
constexpr std::size_t head_bytes_usual = 1024;

bool is_safe(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE";
}

// Error: somebody has to look at it. Warning: somebody did not get what was asked for.
config::LogLevel level_of(telemetry::Ending ending, std::optional<ProblemType> problem, std::uint16_t status) {
  if (ending == telemetry::Ending::unknown || problem == ProblemType::outcome_unknown ||
      problem == ProblemType::store_unavailable || problem == ProblemType::record_corrupt ||
      problem == ProblemType::upstream_unreachable) {
    return config::LogLevel::error;
  }
  const bool refused = ending == telemetry::Ending::refused || ending == telemetry::Ending::malformed || status >= 500;
  return refused ? config::LogLevel::warning : config::LogLevel::info;
}

http::CallEnd call_end(RelayEnd end) {
  if (end == RelayEnd::not_reached) return http::CallEnd::not_reached;
  return end == RelayEnd::timed_out ? http::CallEnd::timed_out : http::CallEnd::lost;
}

}  // namespace

Task<void> Exchange::pass(const policy::Route* route) {
  note(telemetry::Ending::passed);
  const std::string_view marker = config().reply.replayed_header;
  const auto write_answer = [marker](const http::Head& answer, http::HeadWriter& out) {
    policy::to_client(answer.fields(), marker, into(out));
  };
  Relay relay(client_, *plan_->upstreams[route->target.upstream], config().upstreams[route->target.upstream].timeout,
              write_answer);
  upgrades_ = client_.head().version() >= 11 && client_.body_read() && policy::asks_for_websocket(request_);
  if (upgrades_) relay.accept_websocket(config().limits.tunnel_timeout);
  std::string head = head_for_upstream(route->target, std::nullopt);
  const Relay::Again again = is_safe(request_.method) ? Relay::Again::repeatable : Relay::Again::never;
  const RelayEnd end = co_await relay.run(std::move(head), again);
  if (end == RelayEnd::answered || end == RelayEnd::cut || end == RelayEnd::gone) co_return;
  if (end == RelayEnd::not_taken) {
    give_client_up(http::Failure::timed_out);
    co_return;
  }
  if (end == RelayEnd::malformed || end == RelayEnd::slow_body) {
    note(telemetry::Ending::malformed);
    const bool bad = end == RelayEnd::malformed;
    const http::Failure why = bad ? http::Failure::malformed : http::Failure::timed_out;
    co_await refuse_body(why);
    co_return;
  }
  if (end == RelayEnd::not_reached) detail_ = plan_->upstreams[route->target.upstream]->trouble();
  co_await tell_unreached(call_end(end), nullptr);
}

// A request whose body has been read already, but which has no key to guard it by.
Task<void> Exchange::forward_unguarded(const policy::Target* target, telemetry::Ending ending) {
  attempt_.emplace(*plan_->upstreams[target->upstream], config().upstreams[target->upstream], *target,
                   config().reply.replayed_header);
  Outcome outcome = co_await attempt_->run(head_for_upstream(*target, std::nullopt), body_);
  outcome.verdict = Verdict::release;  // nothing was promised, so nothing is kept
  Ran ran{.outcome = std::move(outcome), .fence = {}, .expires_at = {}};
  co_await tell_first(std::move(ran));
  if (attempt_->end() == http::CallEnd::answered) note(ending);
}

void Exchange::watch_store(const policy::Target* target) {
  Millis time = config().limits.store_timeout;
  if (target->policy.in_flight == Policy::InFlight::wait)
    time += target->policy.wait_max;  // for another request, not the store
  client_.alarm(time, [this, target] {
    given_up_ = std::make_shared<runtime::Pause>(services_.clock);
    // Later, not now: the ticker is going through its connections, and this may close some.
    boost::asio::post(client_.executor(), [this, target] {
      boost::asio::co_spawn(client_.executor(), give_store_up(this, target), boost::asio::detached);
    });
  });
}

// Beside run_once(), which still waits for the store and comes to its end only after this has.
Task<void> Exchange::give_store_up(Exchange* self, const policy::Target* target) {
  self->services_.metrics.store_errors.fetch_add(1, std::memory_order_relaxed);
  self->client_.close_after();
  if (target->on_store_down == policy::OnStoreDown::forward) {
    co_await self->forward_unguarded(target, telemetry::Ending::unkeyed);
  } else {
    self->detail_ = "the store did not answer in time";
    co_await self->refuse(Problem::of(ProblemType::store_unavailable), retry_after_unreached);
  }
  self->client_.end_sending();
  self->given_up_->ring();
}

void Exchange::observe(const policy::Route& route, const policy::Identified& identified) {
  telemetry::RouteMetrics& metrics = plan_->metrics_of(route);
  if (const auto* identity = std::get_if<policy::Identity>(&identified)) {
    key_ = identity->key;
    const telemetry::Observer::Sight sight = services_.observer.look(identity->key, identity->fingerprint);
    if (sight == telemetry::Observer::Sight::same) metrics.would_replay.fetch_add(1, std::memory_order_relaxed);
    if (sight == telemetry::Observer::Sight::other) metrics.would_refuse.fetch_add(1, std::memory_order_relaxed);
  } else if (std::holds_alternative<policy::Refusal>(identified)) {
    metrics.would_refuse.fetch_add(1, std::memory_order_relaxed);
  }
}

std::string Exchange::head_for_upstream(const policy::Target& target, std::optional<std::uint64_t> attempt) const {
  const config::UpstreamConfig& upstream = config().upstreams[target.upstream];
  const policy::Hop hop{.scheme = client_.encrypted() ? "https" : "http",
                        .host = host_,
                        .version = client_.head().version() == 10 ? "1.0" : "1.1",
                        .via = config().server.name,
                        .forwarded = config().server.forwarded};
  const std::string host =
      upstream.host == config::HostSource::client ? std::string(host_) : reading::host_field(upstream.urls.front());
  std::string head;
  head.reserve(head_bytes_usual);
  http::HeadWriter out = http::HeadWriter::request(head, request_.method, request_.target);
  policy::to_upstream(request_, hop, host, attempt, into(out));
  if (upgrades_) out.field("Connection", "Upgrade").field("Upgrade", policy::websocket);
  if (client_.body_read() && (!body_.empty() || client_.head().framing() != http::Framing::none)) {
    out.length(body_.size());
  } else if (client_.head().framing() == http::Framing::length) {
    out.length(client_.head().length());
  } else if (client_.head().framing() == http::Framing::chunked) {
    out.chunked();
  }
  out.end();
  return head;
}

// A probe carries what says who is asking, and nothing that describes a body.
std::string Exchange::head_for_probe(const policy::Target& target, std::string_view asked) const {
  std::string head;
  http::HeadWriter out = http::HeadWriter::request(head, "GET", asked);
  const config::UpstreamConfig& upstream = config().upstreams[target.upstream];
  const policy::Hop hop{.scheme = client_.encrypted() ? "https" : "http",
                        .host = host_,
                        .via = config().server.name,
                        .forwarded = config().server.forwarded};
  const std::string host =
      upstream.host == config::HostSource::client ? std::string(host_) : reading::host_field(upstream.urls.front());
  policy::to_upstream(request_, hop, host, std::nullopt, [&out](std::string_view name, std::string_view value) {
    const std::string lower = core::to_lower(name);
    // Of a body that the probe does not have, or that would make its answer another one than the request's.
    const bool out_of_place = lower.starts_with("content-") || lower.starts_with("if-") || lower == "range";
    if (!out_of_place) out.field(name, value);
  });
  out.end();
  return head;
}

Task<void> Exchange::tell_unreached(http::CallEnd end, const Policy* guarded_by) {
  if (end == http::CallEnd::not_reached) {
    co_await refuse(Problem::of(ProblemType::upstream_unreachable), retry_after_unreached);
    co_return;
  }
  const std::uint16_t status = end == http::CallEnd::timed_out ? 504 : 502;
  if (guarded_by == nullptr) {
    Response reply =
        policy::plain_reply(status, "The service behind this gateway took the request, but its answer was lost.");
    co_await send(std::move(reply));
    co_return;
  }
  Problem lost = Problem::of(ProblemType::outcome_unknown);
  lost.status = status;
  if (guarded_by->on_unknown != Policy::OnUnknown::hold) lost.retry = Problem::Retry::same_key;
  const Millis wait = lost.retry == Problem::Retry::same_key ? retry_after_unreached : Millis{0};
  co_await refuse(lost, wait);
  note(telemetry::Ending::unknown);
}

Task<void> Exchange::refuse(Problem problem, Millis retry_after, std::string detail) {
  note(telemetry::Ending::refused);
  problem_ = problem.type;
  Response reply = policy::problem_reply(problem, retry_after, config().reply, detail);
  co_await send(std::move(reply));
}

Task<void> Exchange::send(Response response, SharedResponse with) {
  const auto fields = [&](http::HeadWriter& out) {
    for (const Field& field : response.fields) out.field(field.name, field.value);
  };
  std::string_view body = response.body;
  if (with != nullptr && with->body_kept) body = with->body;
  const http::Try<void> sent = co_await client_.reply(response.status, fields, body);
  if (!sent) give_client_up(sent.error());
}

void Exchange::give_client_up(http::Failure why) {
  client_.close_after();
  if (why == http::Failure::timed_out) services_.metrics.slow_clients.fetch_add(1, std::memory_order_relaxed);
}

void Exchange::write_log() const {
  telemetry::count(route_metrics_->by_ending, ending_);
  if (problem_) telemetry::count(route_metrics_->by_problem, *problem_);
  if (webhook_ != nullptr) count_event();
  const config::LogLevel level = level_of(ending_, problem_, client_.status_sent());
  if (!config().log.takes(level)) return;
  services_.log.add({.at = services_.clock.now(),
                     .level = level,
                     .method = request_.method,
                     .path = request_.path,
                     .route = route_metrics_->label,
                     .outcome = name(ending_),
                     .problem = problem_ ? Problem::of(*problem_).slug() : std::string_view(),
                     .status = client_.status_sent(),
                     .key = key_ ? &*key_ : nullptr,
                     .fence = fence_,
                     .time = services_.clock.stopwatch() - started_,
                     .upstream_time = upstream_time_,
                     .trace = client_.head().find("traceparent").value_or(""),
                     .detail = detail_,
                     .event_type = event_.type,
                     .object = event_.object});
}

}  // namespace semel::gateway
