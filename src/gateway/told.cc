// Values on their way to a client: made without I/O, and sent in one place.
#include "gateway/told.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "gateway/attempt.h"
#include "gateway/sink.h"
#include "http/call.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/transaction.h"
#include "http/writer.h"
#include "policy/keep.h"
#include "policy/reply.h"
#include "telemetry/metrics.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

constexpr Millis retry_after_unreached{1'000};
constexpr std::uint16_t bad_gateway = 502;
constexpr std::uint16_t gateway_timeout = 504;

http::Attempted<void> send_own(http::Transaction* client, const OwnReply* reply) {
  const auto fields = [&](http::HeadWriter& out) {
    for (const Field& field : reply->response.fields) out.field(field.name, field.value);
  };
  const bool shared = reply->body_of != nullptr && reply->body_of->body_kept;
  const std::string_view body = shared ? reply->body_of->body : reply->response.body;
  co_return co_await client->reply(reply->response.status, fields, body);
}

http::Attempted<void> send_upstreams(http::Transaction* client, UpstreamReply* reply, std::string_view marker) {
  Attempt& attempt = *reply->attempt;
  const http::Head& answer = attempt.answer();
  const auto fields = [&](http::HeadWriter& out) {
    policy::to_client(answer.fields(), marker, into(out));
    if (!reply->expires_at) return;
    const Field mark = policy::expires_mark(*reply->expires_at);
    out.field(mark.name, mark.value);
    if (reply->exposed) out.field(reply->exposed->name, reply->exposed->value);
  };
  if (!attempt.goes_on()) co_return co_await client->reply(answer.status(), fields, attempt.body());
  const http::Transaction::Form form{.framing = answer.framing(), .length = answer.length()};
  http::Try<void> sent = co_await client->start_reply(answer.status(), fields, form, attempt.body());
  while (sent) {
    client->await_more();
    const http::Try<std::string_view> piece = co_await attempt.call().read_body();
    if (!piece) {
      client->cut_reply();
      break;
    }
    if (piece->empty()) {
      attempt.call().finish();
      co_return co_await client->end_reply();
    }
    sent = co_await client->continue_reply(*piece);
  }
  co_return sent;
}

}  // namespace

Told told_refusal(const Problem& problem, Millis retry_after, const policy::ReplyConfig& config, std::string_view what,
                  std::string detail) {
  Told told{.ending = telemetry::Ending::refused, .problem = problem.type, .detail = std::move(detail)};
  told.reply = OwnReply{.response = policy::problem_reply(problem, retry_after, config, what)};
  return told;
}

Told told_plainly(telemetry::Ending ending, std::uint16_t status, std::string_view detail, Problem::Retry retry) {
  Told told{.ending = ending};
  told.reply = OwnReply{.response = policy::plain_reply(status, detail, retry)};
  return told;
}

Told told_unreached(http::CallEnd end, const Policy* guarded_by, telemetry::Ending ending,
                    const policy::ReplyConfig& config) {
  if (end == http::CallEnd::not_reached) {
    return told_refusal(Problem::of(ProblemType::upstream_unreachable), retry_after_unreached, config);
  }
  const std::uint16_t status = end == http::CallEnd::timed_out ? gateway_timeout : bad_gateway;
  if (guarded_by == nullptr) {
    return told_plainly(ending, status, "The service behind this gateway took the request, but its answer was lost.");
  }
  Problem lost = Problem::of(ProblemType::outcome_unknown);
  lost.status = status;
  const bool held = guarded_by->on_unknown == Policy::OnUnknown::hold;
  if (!held) lost.retry = Problem::Retry::same_key;
  Told told = told_refusal(lost, held ? Millis{0} : retry_after_unreached, config);
  told.ending = telemetry::Ending::unknown;
  return told;
}

Task<void> send(http::Transaction* client, Told* told, const policy::ReplyConfig* config, telemetry::Metrics* metrics) {
  if (told->close) client->close_after();
  http::Try<void> sent;
  if (const auto* own = std::get_if<OwnReply>(&told->reply)) {
    sent = co_await send_own(client, own);
  } else if (auto* upstreams = std::get_if<UpstreamReply>(&told->reply)) {
    sent = co_await send_upstreams(client, upstreams, config->replayed_header);
  }
  if (sent) co_return;
  client->close_after();
  if (sent.error() == http::Failure::timed_out) metrics->clients.slow.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace semel::gateway
