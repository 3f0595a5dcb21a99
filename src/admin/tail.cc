// GET /v1/tail: lines of requests as they happen, as server-sent events.
//
//   data: {"time":…,"route":…,"outcome":…,…}          a request, as the log has it
//   event: dropped / data: {"lines":12}               so many were left out, because this reader is slow
//
// The filter is in the query: route, outcome (or a problem), status (503 or 5xx), key (the beginning of its hash).
#include "telemetry/tail.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/sources.h"
#include "core/encoding.h"
#include "core/json/writer.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/transaction.h"
#include "http/writer.h"
#include "policy/request_view.h"
#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

constexpr Millis look_again{100};
constexpr int quiet_looks_max = 100;  // then a sign of life, by which a reader that has left is noticed
constexpr std::string_view sign_of_life = ": still here\n\n";
constexpr std::size_t key_digits_max = 64;

bool is_status(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.size() == 3 && digit(text[0]) && (text.substr(1) == "xx" || (digit(text[1]) && digit(text[2])));
}

Result<telemetry::TailFilter> filter_in(const policy::RequestView& request) {
  telemetry::TailFilter filter;
  filter.route = parameter(request, "route").value_or("");
  filter.outcome = parameter(request, "outcome").value_or("");
  filter.status = parameter(request, "status").value_or("");
  filter.key_begin = parameter(request, "key").value_or("");
  if (!filter.status.empty() && !is_status(filter.status)) {
    return fail(Code::invalid, "status: must be a number such as 503, or a class such as 5xx");
  }
  const bool digits = filter.key_begin.find_first_not_of(core::hex_digits) == std::string::npos;
  if (!digits || filter.key_begin.size() > key_digits_max) {
    return fail(Code::invalid, "key: must be the beginning of a key's hash, in hexadecimal digits");
  }
  return filter;
}

std::string events_of(const telemetry::Tail::Lines& news) {
  std::string events;
  for (const std::string& line : news.lines) events.append("data: ").append(line).append("\n\n");
  if (news.dropped == 0) return events;
  events += "event: dropped\ndata: ";
  core::json::JsonWriter(events).begin_object().number("lines", news.dropped).end_object();
  events += "\n\n";
  return events;
}

Field stream_type() {
  return {.name = "Content-Type", .value = "text/event-stream"};
}

// Until the reader leaves, takes too long, or the gateway drains.
Task<void> pump(const Sources* sources, telemetry::Tail::Watcher* watcher, http::Transaction* client) {
  const auto fields = [](http::HeadWriter& out) {
    out.field("Content-Type", "text/event-stream");
    out.field("Cache-Control", "no-store");
    out.field("X-Accel-Buffering", "no");
  };
  const http::Transaction::Form form{.framing = http::Framing::chunked, .length = 0};
  http::Try<void> sent = co_await client->start_reply(200, fields, form, sign_of_life);
  for (int quiet = 0; sent && !sources->draining();) {
    const std::string events = events_of(watcher->take());
    if (!events.empty()) {
      quiet = 0;
      sent = co_await client->continue_reply(events);
      continue;
    }
    client->await_more();
    co_await runtime::sleep(*sources->clock, look_again);
    if (++quiet < quiet_looks_max) continue;
    quiet = 0;
    sent = co_await client->continue_reply(sign_of_life);
  }
  if (sent) sent = co_await client->end_reply();
  if (!sent) client->close_after();
}

}  // namespace

Task<std::optional<Response>> stream_tail(const Sources* sources, policy::RequestView request, Caller /*caller*/,
                                          http::Transaction* client) {
  if (sources->tail == nullptr || sources->clock == nullptr) co_return error_answer(501, "nothing can be watched here");
  Result<telemetry::TailFilter> filter = filter_in(request);
  if (!filter) co_return error_answer(400, filter.error().detail);
  if (client->is_head()) co_return Response{.status = 200, .fields = {stream_type()}, .body = {}};
  const std::unique_ptr<telemetry::Tail::Watcher> watcher = sources->tail->watch(*std::move(filter));
  if (watcher == nullptr) co_return error_answer(503, "too many are watching already");
  co_await pump(sources, watcher.get(), client);
  co_return std::nullopt;
}

}  // namespace semel::admin
