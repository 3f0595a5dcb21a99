// The order of checks, and the only use of the connection.
#include "api/api.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "api/access.h"
#include "api/answer.h"
#include "api/batch.h"
#include "api/item.h"
#include "api/result.h"
#include "api/sighted.h"
#include "api/trouble.h"
#include "api/work.h"
#include "config/config.h"
#include "core/ascii.h"
#include "core/json/view.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/transaction.h"
#include "http/writer.h"
#include "policy/json_scalar.h"
#include "policy/reply.h"
#include "telemetry/api_metrics.h"
#include "telemetry/request_log.h"
#include "telemetry/sighting.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/http_request.h>

namespace semel::api {
namespace {

using core::json::JsonView;

struct ApiPath {
  std::string_view path;
  ApiCall call;
};
constexpr std::array<ApiPath, api_calls> paths{{{"/v1/claims", ApiCall::claim},
                                                {"/v1/claims/renew", ApiCall::renew},
                                                {"/v1/claims/complete", ApiCall::complete},
                                                {"/v1/claims/release", ApiCall::release},
                                                {"/v1/claims/get", ApiCall::get}}};
constexpr std::string_view document_path = "/v1/openapi.json";
constexpr Millis a_day{86'400'000};  // an alarm ends each wait long before

const ApiPath* find_path(std::string_view target) {
  for (const ApiPath& path : paths) {
    if (path.path == target) return &path;
  }
  return nullptr;
}

ItemAnswer of_plain_reply(std::uint16_t status, std::string_view detail) {
  return {.status = status,
          .outcome = ItemOutcome::refused,
          .problem = true,
          .body = policy::plain_reply(status, detail).body};
}

config::LogLevel level_of(std::uint16_t status) {
  return status >= 500 ? config::LogLevel::error : status >= 400 ? config::LogLevel::warning : config::LogLevel::info;
}

// Empty also if there are several: programs disagree on which one counts.
std::string_view authorization_in(const http::Head& head) {
  std::string_view found;
  std::size_t count = 0;
  for (const FieldView& field : head.fields()) {
    if (!core::equal_ignoring_case(field.name, "Authorization")) continue;
    found = field.value;
    ++count;
  }
  return count == 1 ? found : std::string_view();
}

ResultRules rules_of(const config::Config& config) {
  return {.store_body_max = config.limits.store_body_max,
          .head_bytes_max = config.limits.header_bytes,
          .replayed_header = config.reply.replayed_header};
}

std::uint64_t whole_seconds(Millis time) {
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(time).count());
}

}  // namespace

// One request, and what has become of it.
struct Api::Exchange {
  http::Transaction* client;
  std::shared_ptr<const config::Config> config;
  std::chrono::nanoseconds begun;
  const ApiPath* path = nullptr;
  const config::ApiToken* token = nullptr;
  telemetry::ApiCounters* counters = nullptr;  // the token's
  std::string allow{};                         // of a 405
  std::size_t items = 0;                       // 0 unless the request has `items`
  ItemAnswer answer{};

  [[nodiscard]] const std::string& base() const { return config->reply.problem_base; }
  void refuse(const Trouble& trouble) { answer = api::refused(trouble, base()); }
};

Task<void> Api::handle(http::Transaction& transaction) {
  return answer(&transaction);
}

void Api::handshake_failed() {
  parts_.metrics.clients.handshake_failures.fetch_add(1, std::memory_order_relaxed);
}

void Api::turned_away() {
  parts_.metrics.clients.turned_away.fetch_add(1, std::memory_order_relaxed);
}

Task<void> Api::answer(http::Transaction* client) {
  Exchange exchange{.client = client, .config = parts_.config(), .begun = parts_.ledgers.clock.stopwatch()};
  const http::Head& head = client->head();
  const bool reads = head.method() == "GET" || head.method() == "HEAD";
  exchange.path = find_path(head.target());
  if (head.target() == document_path && reads) {
    exchange.answer = {.status = 200, .outcome = ItemOutcome::done, .body = std::string(openapi_document())};
  } else if (head.target() == document_path || (exchange.path != nullptr && head.method() != "POST")) {
    exchange.allow = exchange.path == nullptr ? "GET, HEAD" : "POST";
    exchange.answer = of_plain_reply(405, "Only " + exchange.allow + " here.");
  } else if (exchange.path == nullptr) {
    exchange.answer = of_plain_reply(404, "The claims API has no such path; GET /v1/openapi.json lists them.");
  } else {
    co_await perform(&exchange);
  }
  ItemAnswer& answer = exchange.answer;
  if (answer.problem && !answer.body.ends_with('\n')) answer.body += '\n';  // for those who look at it in a terminal
  const auto fields = [&](http::HeadWriter& out) {
    out.field("Content-Type", answer.problem ? "application/problem+json" : "application/json");
    out.field("Cache-Control", "no-store");
    if (answer.status == 401) out.field("WWW-Authenticate", "Bearer");
    if (!exchange.allow.empty()) out.field("Allow", exchange.allow);
    if (answer.retry_after > Millis{0}) out.field("Retry-After", std::to_string(whole_seconds(answer.retry_after)));
  };
  const http::Try<void> sent = co_await client->reply(answer.status, fields, answer.body);
  if (!sent) client->close_after();
  record(exchange);
}

Task<void> Api::perform(Exchange* exchange) {
  const ApiCall call = exchange->path->call;
  exchange->token = token_of(exchange->config->api, authorization_in(exchange->client->head()));
  if (exchange->token == nullptr) {
    parts_.metrics.api.strangers.fetch_add(1, std::memory_order_relaxed);
    co_return exchange->refuse(no_token());
  }
  exchange->counters = &parts_.metrics.api.token(exchange->token->name);
  if (!may(*exchange->token, call)) co_return exchange->refuse(not_allowed({}, "The token may not make this call."));
  const http::Try<std::string> body = co_await exchange->client->read_whole_body(request_bytes_max);
  if (!body) {
    exchange->client->close_after();
    const bool large = body.error() == http::Failure::too_large;
    exchange->refuse(large ? too_large({}, "A request has at most 1 MiB. Nothing was done.")
                           : invalid({}, "The body did not arrive whole. Nothing was done."));
    co_return;
  }
  if (!policy::is_json(*body)) {
    co_return exchange->refuse(invalid({}, "The body is not JSON, or is nested deeper than 64. Nothing was done."));
  }
  const JsonView document(*body);
  if (is_batch(document)) co_return co_await perform_batch(exchange, document);
  const auto late = parts_.rates.take(*exchange->token, 1, parts_.ledgers.clock.now());
  if (late) co_return exchange->refuse(too_many(*late));
  const ResultRules rules = rules_of(*exchange->config);
  const auto members = read_members(call, document, {});
  auto item = members ? read_item(call, *members, *exchange->token, rules)
                      : std::expected<Item, Trouble>(std::unexpected(members.error()));
  if (!item) {
    exchange->refuse(item.error());
    count(*exchange, exchange->answer);
    co_return;
  }
  const std::shared_ptr<Shift> shift = make_shift(parts_.ledgers.clock, exchange->base());
  shift->jobs.push_back({.item = *std::move(item), .answer = {}});
  co_await finish(exchange, shift);
  exchange->answer = shift->jobs.front().answer;
  count(*exchange, exchange->answer);
  sight(*exchange, *shift);
}

Task<void> Api::perform_batch(Exchange* exchange, JsonView document) {
  const ApiCall call = exchange->path->call;
  const ResultRules rules = rules_of(*exchange->config);
  const auto items = read_batch(call, document);
  if (!items) co_return exchange->refuse(items.error());
  exchange->items = items->items.size();
  const auto late = parts_.rates.take(*exchange->token, exchange->items, parts_.ledgers.clock.now());
  if (late) co_return exchange->refuse(too_many(*late));
  const std::shared_ptr<Shift> shift = make_shift(parts_.ledgers.clock, exchange->base());
  shift->jobs = jobs_of(call, *items, *exchange->token, rules, exchange->base());
  co_await finish(exchange, shift);
  for (const ApiJob& job : shift->jobs) count(*exchange, job.answer);
  sight(*exchange, *shift);
  exchange->answer = {.status = 200, .outcome = ItemOutcome::done, .body = batch_text(shift->jobs)};
}

// Until every item has its answer. The store has limits.store_timeout for that, beyond what the caller waits for.
Task<void> Api::finish(Exchange* exchange, std::shared_ptr<Shift> shift) {
  const Executor executor = exchange->client->executor();
  start(&parts_.ledgers, exchange->path->call, shift, executor);
  if (shift->left > 0) {
    // Later, not now: the ticker is going through its connections, and this may close some.
    exchange->client->alarm(exchange->config->limits.store_timeout + longest_wait(*shift),
                            [shift, executor] { boost::asio::post(executor, [shift] { shift->over->ring(); }); });
    co_await shift->over->wait(a_day);
    exchange->client->silence();
  }
  refuse_unanswered(*shift);
}

void Api::count(const Exchange& exchange, const ItemAnswer& answer) {
  exchange.counters->items.at(static_cast<std::size_t>(exchange.path->call))
      .at(static_cast<std::size_t>(answer.outcome))
      .fetch_add(1, std::memory_order_relaxed);
  if (answer.slug == "store-unavailable") parts_.metrics.store_errors.fetch_add(1, std::memory_order_relaxed);
}

void Api::sight(const Exchange& exchange, const Shift& shift) {
  telemetry::SightingBuffer* const into = parts_.sighted();
  if (into == nullptr) return;
  const std::string route = "api " + exchange.token->name;
  for (const ApiJob& job : shift.jobs) {
    std::optional<telemetry::Sighting> seen = sighting_of(exchange.path->call, job);
    if (!seen) continue;
    seen->at = parts_.ledgers.clock.wall();
    seen->route = route;
    seen->client = exchange.client->peer();
    seen->agent = exchange.client->head().find("User-Agent").value_or("");
    into->add(*seen);
  }
}

void Api::record(const Exchange& exchange) {
  const ItemAnswer& answer = exchange.answer;
  const config::LogLevel level = level_of(answer.status);
  if (!exchange.config->log.takes(level)) return;
  telemetry::LogEntry entry;
  entry.at = parts_.ledgers.clock.wall();
  entry.level = level;
  entry.method = exchange.client->head().method();
  entry.path = exchange.path == nullptr ? std::string_view() : exchange.path->path;
  entry.token = exchange.token == nullptr ? std::string_view() : std::string_view(exchange.token->name);
  const std::string batch = exchange.items == 0 ? std::string() : fmt::format("{} items", exchange.items);
  entry.outcome = exchange.items == 0 ? name(answer.outcome) : "batch";
  entry.detail = batch;
  entry.problem = answer.slug;
  entry.status = answer.status;
  entry.time = parts_.ledgers.clock.stopwatch() - exchange.begun;
  parts_.log.add(entry);
}

}  // namespace semel::api
