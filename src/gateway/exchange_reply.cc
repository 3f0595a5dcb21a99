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

#include "gateway/attempt.h"
#include "gateway/exchange.h"
#include "gateway/histogram.h"
#include "gateway/metrics.h"
#include "gateway/observer.h"
#include "gateway/relay.h"
#include "gateway/sink.h"
#include "http/call.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/writer.h"
#include "once/pause.h"
#include "policy/address.h"
#include "policy/ascii.h"
#include "policy/config.h"
#include "policy/forward.h"
#include "policy/identify.h"
#include "policy/keep.h"
#include "policy/reply.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel {
namespace {

constexpr Millis retry_after_unreached{1'000};
constexpr std::size_t head_bytes_usual = 1024;

bool is_safe(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE";
}

// Error: somebody has to look at it. Warning: somebody did not get what was asked for.
LogLevel level_of(Ending ending, std::optional<ProblemType> problem, std::uint16_t status) {
  if (ending == Ending::unknown || problem == ProblemType::outcome_unknown ||
      problem == ProblemType::store_unavailable || problem == ProblemType::record_corrupt ||
      problem == ProblemType::upstream_unreachable) {
    return LogLevel::error;
  }
  const bool refused = ending == Ending::refused || ending == Ending::malformed || status >= 500;
  return refused ? LogLevel::warning : LogLevel::info;
}

http::CallEnd call_end(RelayEnd end) {
  if (end == RelayEnd::not_reached) return http::CallEnd::not_reached;
  return end == RelayEnd::timed_out ? http::CallEnd::timed_out : http::CallEnd::lost;
}

}  // namespace

Task<void> Exchange::pass(const Route* route) {
  note(Ending::passed);
  const std::string_view marker = config().reply.replayed_header;
  const auto write_answer = [marker](const http::Head& answer, http::HeadWriter& out) {
    to_client(answer.fields(), marker, into(out));
  };
  Relay relay(client_, *plan_->upstreams[route->upstream], config().upstreams[route->upstream].timeout, write_answer);
  upgrades_ = client_.head().version() >= 11 && client_.body_read() && asks_for_websocket(request_);
  if (upgrades_) relay.accept_websocket(config().limits.tunnel_timeout);
  std::string head = head_for_upstream(*route, std::nullopt);
  const Relay::Again again = is_safe(request_.method) ? Relay::Again::repeatable : Relay::Again::never;
  const RelayEnd end = co_await relay.run(std::move(head), again);
  if (end == RelayEnd::answered || end == RelayEnd::cut || end == RelayEnd::gone) co_return;
  if (end == RelayEnd::not_taken) {
    give_client_up(http::Failure::timed_out);
    co_return;
  }
  if (end == RelayEnd::malformed || end == RelayEnd::slow_body) {
    note(Ending::malformed);
    const bool bad = end == RelayEnd::malformed;
    const http::Failure why = bad ? http::Failure::malformed : http::Failure::timed_out;
    co_await refuse_body(why);
    co_return;
  }
  if (end == RelayEnd::not_reached) detail_ = plan_->upstreams[route->upstream]->trouble();
  co_await tell_unreached(call_end(end), nullptr);
}

// A request whose body has been read already, but which has no key to guard it by.
Task<void> Exchange::forward_unguarded(const Route* route, Ending ending) {
  attempt_.emplace(*plan_->upstreams[route->upstream], config().upstreams[route->upstream], *route,
                   config().reply.replayed_header);
  Outcome outcome = co_await attempt_->run(head_for_upstream(*route, std::nullopt), body_);
  outcome.verdict = Verdict::release;  // nothing was promised, so nothing is kept
  Ran ran{.outcome = std::move(outcome), .fence = {}, .expires_at = {}};
  co_await tell_first(std::move(ran));
  if (attempt_->end() == http::CallEnd::answered) note(ending);
}

void Exchange::watch_store(const Route* route) {
  Millis time = config().limits.store_timeout;
  if (route->policy.in_flight == Policy::InFlight::wait)
    time += route->policy.wait_max;  // for another request, not the store
  client_.alarm(time, [this, route] {
    given_up_ = std::make_shared<Pause>(services_.clock);
    // Later, not now: the ticker is going through its connections, and this may close some.
    boost::asio::post(client_.executor(), [this, route] {
      boost::asio::co_spawn(client_.executor(), give_store_up(this, route), boost::asio::detached);
    });
  });
}

// Beside run_once(), which still waits for the store and comes to its end only after this has.
Task<void> Exchange::give_store_up(Exchange* self, const Route* route) {
  self->services_.metrics.store_errors.fetch_add(1, std::memory_order_relaxed);
  self->client_.close_after();
  if (route->on_store_down == OnStoreDown::forward) {
    co_await self->forward_unguarded(route, Ending::unkeyed);
  } else {
    self->detail_ = "the store did not answer in time";
    co_await self->refuse(Problem::of(ProblemType::store_unavailable), retry_after_unreached);
  }
  self->client_.end_sending();
  self->given_up_->ring();
}

void Exchange::observe(const Route& route, const Identified& identified) {
  RouteMetrics& metrics = plan_->metrics_of(route);
  if (const auto* identity = std::get_if<Identity>(&identified)) {
    key_ = identity->key;
    const Observer::Sight sight = services_.observer.look(identity->key, identity->fingerprint);
    if (sight == Observer::Sight::same) metrics.would_replay.fetch_add(1, std::memory_order_relaxed);
    if (sight == Observer::Sight::other) metrics.would_refuse.fetch_add(1, std::memory_order_relaxed);
  } else if (std::holds_alternative<Refusal>(identified)) {
    metrics.would_refuse.fetch_add(1, std::memory_order_relaxed);
  }
}

std::string Exchange::head_for_upstream(const Route& route, std::optional<std::uint64_t> attempt) const {
  const UpstreamConfig& upstream = config().upstreams[route.upstream];
  const Hop hop{.scheme = client_.encrypted() ? "https" : "http",
                .host = host_,
                .version = client_.head().version() == 10 ? "1.0" : "1.1",
                .via = config().server.name,
                .forwarded = config().server.forwarded};
  const std::string host = upstream.host == HostSource::client ? std::string(host_) : host_field(upstream.urls.front());
  std::string head;
  head.reserve(head_bytes_usual);
  http::HeadWriter out = http::HeadWriter::request(head, request_.method, request_.target);
  to_upstream(request_, hop, host, attempt, into(out));
  if (upgrades_) out.field("Connection", "Upgrade").field("Upgrade", websocket);
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
std::string Exchange::head_for_probe(const Route& route, std::string_view target) const {
  std::string head;
  http::HeadWriter out = http::HeadWriter::request(head, "GET", target);
  const UpstreamConfig& upstream = config().upstreams[route.upstream];
  const Hop hop{.scheme = client_.encrypted() ? "https" : "http",
                .host = host_,
                .via = config().server.name,
                .forwarded = config().server.forwarded};
  const std::string host = upstream.host == HostSource::client ? std::string(host_) : host_field(upstream.urls.front());
  to_upstream(request_, hop, host, std::nullopt, [&out](std::string_view name, std::string_view value) {
    const std::string lower = to_lower(name);
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
    Response reply = plain_reply(status, "The service behind this gateway took the request, but its answer was lost.");
    co_await send(std::move(reply));
    co_return;
  }
  Problem lost = Problem::of(ProblemType::outcome_unknown);
  lost.status = status;
  if (guarded_by->on_unknown != Policy::OnUnknown::hold) lost.retry = Problem::Retry::same_key;
  const Millis wait = lost.retry == Problem::Retry::same_key ? retry_after_unreached : Millis{0};
  co_await refuse(lost, wait);
  note(Ending::unknown);
}

Task<void> Exchange::refuse(Problem problem, Millis retry_after, std::string detail) {
  note(Ending::refused);
  problem_ = problem.type;
  Response reply = problem_reply(problem, retry_after, config().reply, detail);
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
  count(route_metrics_->by_ending, ending_);
  if (problem_) count(route_metrics_->by_problem, *problem_);
  if (webhook_ != nullptr) count_event();
  const LogLevel level = level_of(ending_, problem_, client_.status_sent());
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

}  // namespace semel
