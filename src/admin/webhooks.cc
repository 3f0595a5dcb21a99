// GET /v1/webhooks: what each webhook's sender does, since this process started. Who was not believed and why, which
// secret matched and when, which events the sender has to send again, and for how long it will.
//
// An event that failed here may have been handled at another gateway, or been settled by an operator. So the oldest are
// looked up in the store before they are shown.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/handlers.h"
#include "admin/key_json.h"
#include "admin/sources.h"
#include "config/config.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include "telemetry/awaited_events.h"
#include "telemetry/histogram.h"
#include "telemetry/recent.h"
#include "telemetry/strangers.h"
#include "telemetry/webhook_metrics.h"
#include "webhook/signatures.h"
#include "webhook/webhook.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::admin {
namespace {

using core::json::JsonWriter;
using telemetry::AwaitedEvents;
using telemetry::WebhookCounters;

constexpr std::size_t looked_up = 32;  // of the awaited events of a webhook
constexpr std::size_t shown = 10;

// The id that the key has in the store.
Digest id_of(const Sources& sources, const Digest& key) {
  Key whole;
  whole.id = key;
  return sources.desk == nullptr ? key : sources.desk->named(std::move(whole)).id;
}

// Forgets those among the oldest that need not come again. If the store does not answer, nothing is forgotten.
Task<void> look_up(const Sources* sources, AwaitedEvents* awaited) {
  if (sources->desk == nullptr) co_return;
  const AwaitedEvents::View view = awaited->view(sources->now());
  for (std::size_t i = 0; i < std::min(view.events.size(), looked_up); ++i) {
    const Digest id = id_of(*sources, view.events[i].key);
    std::string whole(id.begin(), id.end());
    const Result<std::vector<Held>> found = co_await sources->desk->find(std::move(whole), 1);
    if (!found) co_return;
    if (!found->empty() && found->front().record.state == Record::State::done) awaited->forget(view.events[i].key);
  }
}

void write_counts(JsonWriter& json, const WebhookCounters& counters) {
  const auto of = [&counters](telemetry::EventEnd end) {
    return counters.by_end.at(static_cast<std::size_t>(end)).load(std::memory_order_relaxed);
  };
  using telemetry::EventEnd;
  json.name("events").begin_object().number("handled", of(EventEnd::handled)).number("failed", of(EventEnd::failed));
  json.number("unknown", of(EventEnd::unknown)).number("duplicate", of(EventEnd::duplicate));
  json.number("in_flight", of(EventEnd::in_flight)).number("out_of_order", of(EventEnd::out_of_order)).end_object();
  const double p99 = telemetry::quantile({}, counters.handler_seconds.counts(), 0.99);
  if (p99 >= 0) json.decimal("handler_p99_ms", p99 * 1'000, 3);
}

void write_secrets(JsonWriter& json, const WebhookCounters& counters, std::size_t configured) {
  json.name("secrets").begin_array();
  for (std::size_t i = 0; i < counters.by_secret.size(); ++i) {
    const std::uint64_t matched = counters.by_secret.at(i).load(std::memory_order_relaxed);
    if (i >= configured && matched == 0) continue;
    json.begin_object().number("number", i + 1).number("matched", matched);
    const std::int64_t at = counters.senders.matched_at.at(i).load(std::memory_order_relaxed);
    if (at > 0) json.text("last_at", time_text(Time{Millis{at}}));
    json.end_object();
  }
  json.end_array();
}

void write_strangers(JsonWriter& json, const WebhookCounters& counters) {
  json.name("failed_signatures").begin_array();
  for (std::size_t i = 0; i < webhook::signature_faults; ++i) {
    const std::uint64_t count = counters.by_fault.at(i).load(std::memory_order_relaxed);
    if (count == 0) continue;
    json.begin_object().text("reason", name(static_cast<webhook::SignatureFault>(i))).number("count", count);
    json.end_object();
  }
  const telemetry::Strangers::View view = counters.senders.strangers.view();
  json.end_array().name("strangers").begin_array();
  for (const auto& each : view.strangers) {
    json.begin_object().bytes("address", each.address).text("reason", name(each.fault)).number("count", each.count);
    json.text("first_at", time_text(each.first)).text("last_at", time_text(each.last)).end_object();
  }
  json.end_array().boolean("strangers_partial", view.partial);
}

void write_awaited(JsonWriter& json, const Sources& sources, AwaitedEvents& awaited, Millis horizon) {
  const Time now = sources.now();
  const AwaitedEvents::View view = awaited.view(now);
  const auto given_up = std::ranges::count_if(
      view.events, [&](const AwaitedEvents::Awaited& event) { return event.since + horizon <= now; });
  json.name("awaited").begin_object().number("count", view.events.size()).number("given_up", given_up);
  json.boolean("partial", view.partial);
  if (!view.events.empty()) json.text("oldest_at", time_text(view.events.front().since));
  json.name("oldest").begin_array();
  for (std::size_t i = 0; i < std::min(view.events.size(), shown); ++i) {
    const AwaitedEvents::Awaited& event = view.events[i];
    json.begin_object().hex("key", id_of(sources, event.key)).text("since", time_text(event.since));
    json.text("last_at", time_text(event.last)).number("times", event.times).end_object();
  }
  json.end_array().end_object();
}

void write_webhook(JsonWriter& json, const Sources& sources, const webhook::Webhook& webhook,
                   WebhookCounters& counters) {
  const bool to_inbox = webhook.delivery == webhook::Delivery::inbox;
  json.begin_object().bytes("path", webhook.path.text).bytes("provider", webhook.provider);
  json.bytes("title", webhook.rules.title).bytes("namespace", webhook.space);
  json.text("delivery", to_inbox ? "inbox" : "forward").number("horizon_ms", webhook.rules.horizon.count());
  write_counts(json, counters);
  write_secrets(json, counters, webhook.secrets.size());
  write_strangers(json, counters);
  write_awaited(json, sources, counters.senders.awaited, webhook.rules.horizon);
  json.end_object();
}

}  // namespace

Task<Response> show_webhooks(const Sources* sources, policy::RequestView /*request*/, Caller /*caller*/) {
  if (sources->webhooks == nullptr) co_return error_answer(501, "nothing is counted here");
  const std::shared_ptr<const config::Config> config = sources->config();
  std::string body;
  JsonWriter json(body);
  json.begin_object().name("items").begin_array();
  for (const webhook::Webhook& webhook : config->webhooks) {
    WebhookCounters& counters = sources->webhooks->webhook(webhook.path.text, webhook.provider);
    co_await look_up(sources, &counters.senders.awaited);
    write_webhook(json, *sources, webhook, counters);
  }
  json.end_array().text("cursor", "").text("searched_to", time_text(sources->now())).boolean("complete", true);
  json.end_object();
  co_return json_answer(200, std::move(body));
}

}  // namespace semel::admin
