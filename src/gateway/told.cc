// Values on their way to a client: made without I/O, and sent in one place.
#include "gateway/told.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

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

http::Attempted<void> send_own(http::Transaction& client, const OwnReply& reply) {
  const auto write = [](http::HeadWriter& out, const std::vector<Field>& fields) {
    for (const Field& field : fields) out.field(field.name, field.value);
  };
  const auto fields = [&](http::HeadWriter& out) {
    if (reply.stored != nullptr) write(out, reply.stored->fields);
    write(out, reply.response.fields);
  };
  const std::string_view body = reply.has_stored_body() ? reply.stored->body : reply.response.body;
  return client.reply(reply.response.status, fields, body);
}

// A reply that has begun with what was kept goes on with the rest of the upstream's answer.
http::Attempted<void> send_rest(http::Transaction* client, http::Attempted<void> begun, http::Call* upstream) {
  http::Try<void> sent = co_await std::move(begun);
  while (sent) {
    client->await_more();
    const http::Try<std::string_view> piece = co_await upstream->read_body();
    if (!piece) {
      client->cut_reply();
      break;
    }
    if (piece->empty()) {
      upstream->finish();
      co_return co_await client->end_reply();
    }
    sent = co_await client->continue_reply(*piece);
  }
  co_return sent;
}

http::Attempted<void> send_upstreams(http::Transaction& client, const UpstreamReply& reply, std::string_view marker) {
  Attempt& attempt = *reply.attempt;
  const http::Head& answer = attempt.answer();
  const auto fields = [&](http::HeadWriter& out) {
    policy::to_client(answer.fields(), marker, into(out));
    if (!reply.expires_at) return;
    const Field mark = policy::expires_mark(*reply.expires_at);
    out.field(mark.name, mark.value);
    if (reply.exposed) out.field(reply.exposed->name, reply.exposed->value);
  };
  if (!attempt.goes_on()) return client.reply(answer.status(), fields, attempt.body());
  const http::Transaction::Form form{.framing = answer.framing(), .length = answer.length()};
  return send_rest(&client, client.start_reply(answer.status(), fields, form, attempt.body()), &attempt.call());
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
    sent = co_await send_own(*client, *own);
  } else if (const auto* upstreams = std::get_if<UpstreamReply>(&told->reply)) {
    sent = co_await send_upstreams(*client, *upstreams, config->replayed_header);
  }
  if (sent) co_return;
  client->close_after();
  if (sent.error() == http::Failure::timed_out) metrics->clients.slow.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace semel::gateway
