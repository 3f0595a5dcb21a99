// Requests that go up without a key. What is promised of them is what a plain proxy promises.
#include "gateway/passage.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "config/config.h"
#include "gateway/attempt.h"
#include "gateway/body.h"
#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/relay.h"
#include "gateway/sink.h"
#include "gateway/told.h"
#include "gateway/upstream_head.h"
#include "http/call.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/transaction.h"
#include "http/writer.h"
#include "policy/forward.h"
#include "policy/keep.h"
#include "policy/request_view.h"
#include "policy/target.h"
#include "telemetry/cause.h"
#include "telemetry/metrics.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>

namespace semel::gateway {
namespace {

using telemetry::Ending;

bool is_safe(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE";
}

// The frame of a body that is still to come, or that is empty.
BodyFrame frame_to_come(const http::Transaction& client) {
  const http::Framing framing = client.head().framing();
  if (!client.body_read()) return {.framing = framing, .length = client.head().length()};
  return {.framing = framing == http::Framing::none ? http::Framing::none : http::Framing::length, .length = 0};
}

telemetry::Cause cause_of(RelayEnd end) {
  switch (end) {
    case RelayEnd::not_reached:
      return telemetry::Cause::refused;
    case RelayEnd::timed_out:
      return telemetry::Cause::timeout;
    case RelayEnd::lost:
      return telemetry::Cause::reset;
    case RelayEnd::cut:
      return telemetry::Cause::cut;
    default:
      return telemetry::Cause::none;
  }
}

http::CallEnd call_end(RelayEnd end) {
  if (end == RelayEnd::not_reached) return http::CallEnd::not_reached;
  return end == RelayEnd::timed_out ? http::CallEnd::timed_out : http::CallEnd::lost;
}

Told told_of(const Incoming& incoming, const policy::Target& target, RelayEnd end) {
  Told told{.ending = Ending::passed};
  switch (end) {
    case RelayEnd::answered:
    case RelayEnd::cut:
    case RelayEnd::gone:
      break;
    case RelayEnd::not_taken:
      incoming.services.metrics.clients.slow.fetch_add(1, std::memory_order_relaxed);
      told.close = true;
      break;
    case RelayEnd::malformed:
      return told_bad_body(incoming, http::Failure::malformed);
    case RelayEnd::slow_body:
      return told_bad_body(incoming, http::Failure::timed_out);
    case RelayEnd::not_reached:
    case RelayEnd::timed_out:
    case RelayEnd::lost:
      told = told_unreached(call_end(end), nullptr, Ending::passed, incoming.config().reply);
      if (end == RelayEnd::not_reached) told.detail = incoming.upstream(target.upstream).trouble();
      break;
  }
  told.cause = cause_of(end);
  return told;
}

}  // namespace

policy::Hop hop_of(const Incoming& incoming) {
  return {.scheme = incoming.client.encrypted() ? "https" : "http",
          .host = incoming.host,
          .version = incoming.client.head().version() == 10 ? "1.0" : "1.1",
          .via = incoming.config().server.name,
          .forwarded = incoming.config().server.forwarded,
          .overrides = incoming.config().server.overrides};
}

BodyFrame frame_of(const Incoming& incoming, const policy::RequestView& request) {
  const bool none = request.body.empty() && incoming.client.head().framing() == http::Framing::none;
  return {.framing = none ? http::Framing::none : http::Framing::length, .length = request.body.size()};
}

Task<Told> pass(const Incoming* incoming, const policy::Target* target) {
  const config::Config& config = incoming->config();
  http::Transaction& client = incoming->client;
  const config::UpstreamConfig& upstream = config.upstreams[target->upstream];
  const auto write_answer = [marker = std::string_view(config.reply.replayed_header)](const http::Head& answer,
                                                                                      http::HeadWriter& out) {
    policy::to_client(answer.fields(), marker, into(out));
  };
  Relay relay(client, incoming->upstream(target->upstream), upstream.timeout, write_answer);
  const bool upgrade =
      client.head().version() >= 11 && client.body_read() && policy::asks_for_websocket(incoming->request);
  if (upgrade) relay.accept_websocket(config.limits.tunnel_timeout);
  Onward onward{.body = frame_to_come(client), .upgrade = upgrade};
  std::string body;
  if (target->buffer && !client.body_read()) {
    // A slow client keeps only us waiting: the upstream is called when all of the body is here.
    http::Try<std::string> read = co_await read_body(*incoming);
    if (!read) co_return told_bad_body(*incoming, read.error());
    body = *std::move(read);
    onward.body = {.framing = http::Framing::length, .length = body.size()};
  }
  std::string head = upstream_head(upstream, incoming->request, hop_of(*incoming), onward);
  const Relay::Again again = is_safe(incoming->request.method) ? Relay::Again::repeatable : Relay::Again::never;
  const RelayEnd end = co_await relay.run(std::move(head), body, again);
  co_return told_of(*incoming, *target, end);
}

Task<Told> forward(const Incoming* incoming, WithoutKey request, const Policy* guarded_by) {
  const config::Config& config = incoming->config();
  const std::size_t at = request.target->upstream;
  auto attempt = std::make_unique<Attempt>(incoming->upstream(at), config.upstreams[at], *request.target,
                                           config.reply.replayed_header);
  const Onward onward{.body = frame_of(*incoming, request.request)};
  std::string head = upstream_head(config.upstreams[at], request.request, hop_of(*incoming), onward);
  // What became of it is nobody's to keep.
  static_cast<void>(co_await attempt->run(std::move(head), request.request.body));
  Told told{.ending = request.ending};
  if (attempt->end() == http::CallEnd::answered) {
    told.reply = UpstreamReply{.attempt = std::move(attempt), .expires_at = {}};
  } else {
    told = told_unreached(attempt->end(), guarded_by, request.ending, config.reply);
    told.cause = attempt->cause();
    if (attempt->end() == http::CallEnd::not_reached) told.detail = incoming->upstream(at).trouble();
  }
  told.would = request.would;
  told.clue = std::move(request.clue);
  told.key = std::move(request.key);
  told.event = std::move(request.event);
  co_return told;
}

}  // namespace semel::gateway
