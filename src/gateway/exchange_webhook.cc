// An event from its arrival to its claim, and what its sender hears when it has been processed. From the claim on it
// goes the way of any guarded request: run_once() in exchange.cc.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "config/config.h"
#include "gateway/exchange.h"
#include "gateway/key_cache.h"
#include "http/failure.h"
#include "http/fetch.h"
#include "policy/identify.h"
#include "policy/reply.h"
#include "telemetry/histogram.h"
#include "telemetry/metrics.h"
#include "telemetry/webhook_metrics.h"
#include "webhook/authenticate.h"
#include "webhook/event.h"
#include "webhook/event_batch.h"
#include "webhook/fetched_keys.h"
#include "webhook/handshake.h"
#include "webhook/provider.h"
#include "webhook/signatures.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

constexpr Millis no_wait{0};

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::optional<telemetry::EventEnd> event_end_of(telemetry::Ending ending, std::optional<ProblemType> problem) {
  switch (ending) {
    case telemetry::Ending::ran:
      return telemetry::EventEnd::handled;
    case telemetry::Ending::released:
      return telemetry::EventEnd::failed;
    case telemetry::Ending::unknown:
      return telemetry::EventEnd::unknown;
    case telemetry::Ending::replayed:
      return telemetry::EventEnd::duplicate;
    case telemetry::Ending::superseded:
      return telemetry::EventEnd::out_of_order;
    case telemetry::Ending::refused:
      if (problem == ProblemType::in_flight) return telemetry::EventEnd::in_flight;
      if (problem == ProblemType::upstream_unreachable) return telemetry::EventEnd::failed;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

// Who sent it is verified before anything is stored.
Task<void> Exchange::receive(const webhook::Webhook* webhook) {
  webhook_ = webhook;
  const auto wait = plan_->limiter_of(*webhook).take(*webhook, request_.ip, services_.clock.now());
  if (wait) {
    client_.close_after();
    co_await refuse(Problem::of(ProblemType::rate_limited), *wait);
    co_return;
  }
  if (!co_await read_body()) co_return;
  if (co_await shake_hands(webhook, webhook::Stage::before_signature)) co_return;
  const std::optional<webhook::Authentic> authentic = co_await verify(webhook);
  if (!authentic) co_return;
  if (co_await shake_hands(webhook, webhook::Stage::after_signature)) co_return;
  const webhook::SignatureScheme& scheme = webhook->rules.schemes[authentic->scheme];
  if (webhook->confirm_subscriptions && co_await confirm(webhook, &scheme)) co_return;

  const webhook::EventPlace place{.space = webhook->space,
                                  .key_from = webhook->event_key ? &*webhook->event_key : nullptr,
                                  .ordered = webhook->ordered};
  const bool signs_id = scheme.signs_id;
  webhook::Split split = webhook::split_batch(webhook->rules, place, signs_id, request_);
  if (auto* batch = std::get_if<webhook::EventBatch>(&split)) {
    co_await receive_batch(webhook, std::move(*batch));
    co_return;
  }
  if (const auto* refusal = std::get_if<policy::Refusal>(&split)) {
    co_await refuse(refusal->problem, no_wait, refusal->detail);
    co_return;
  }
  policy::Identified identified = webhook::identify_event(webhook->rules, place, signs_id, request_);
  event_ = webhook::describe_event(webhook->rules, request_);
  if (auto* identity = std::get_if<policy::Identity>(&identified)) {
    note_place(*identity);
    co_await run_once(&webhook->target, std::move(*identity), nullptr);
  } else if (const auto* refusal = std::get_if<policy::Refusal>(&identified)) {
    co_await refuse(refusal->problem, no_wait, refusal->detail);
  } else {
    co_await forward_unguarded(&webhook->target, telemetry::Ending::unkeyed);
  }
}

// Whether the request was a handshake, which has been answered then.
Task<bool> Exchange::shake_hands(const webhook::Webhook* webhook, webhook::Stage stage) {
  auto answer = webhook::answer_handshake(webhook->rules, webhook->lock, webhook->verify_token, request_, stage);
  if (!answer) co_return false;
  telemetry::WebhookCounters& counters = plan_->counters_of(*webhook);
  auto& counter = answer->accepted ? counters.handshakes : counters.handshakes_refused;
  counter.fetch_add(1, std::memory_order_relaxed);
  note(answer->accepted ? telemetry::Ending::passed : telemetry::Ending::refused);
  detail_ = answer->accepted ? "handshake" : "handshake refused";
  co_await send(std::move(answer->response));
  co_return true;
}

// Whether the sender asked for a confirmation. The address is visited only if it is the sender's own, whatever an
// authentic request says.
Task<bool> Exchange::confirm(const webhook::Webhook* webhook, const webhook::SignatureScheme* scheme) {
  const std::optional<webhook::Confirmation> asked = webhook::confirmation_of(*scheme, request_);
  if (!asked) co_return false;
  bool confirmed = false;
  if (!asked->url.empty()) {
    http::FetchOrder order{.url = asked->url, .body = {}};
    const http::Try<std::string> visited = co_await http::fetch(std::move(order), &services_.clock, client_.executor());
    confirmed = visited.has_value();
  }
  telemetry::WebhookCounters& counters = plan_->counters_of(*webhook);
  auto& counter = confirmed ? counters.handshakes : counters.handshakes_refused;
  counter.fetch_add(1, std::memory_order_relaxed);
  note(confirmed ? telemetry::Ending::passed : telemetry::Ending::refused);
  detail_ = confirmed ? "subscription confirmed" : "subscription not confirmed";
  Response reply = confirmed ? Response{} : policy::plain_reply(502, "The subscription could not be confirmed.");
  co_await send(std::move(reply));
  co_return true;
}

// Nothing: the sender has been told why. A key that has to be fetched first is fetched; without it nobody can say
// whether the delivery is authentic, so the sender is asked to come again.
Task<std::optional<webhook::Authentic>> Exchange::verify(const webhook::Webhook* webhook) {
  telemetry::WebhookCounters& counters = plan_->counters_of(*webhook);
  const webhook::Documents documents = [this](const std::string& name) { return services_.keys.find(name); };
  const auto judge = [&] {
    return webhook::judge_delivery(webhook->rules, webhook->lock, request_, services_.clock.now(), documents);
  };
  webhook::Judged judged = judge();
  if (const auto* wanted = std::get_if<webhook::Wanted>(&judged)) {
    const bool fetched = co_await services_.keys.fetch(*wanted);
    if (fetched) judged = judge();
  }
  if (const auto* authentic = std::get_if<webhook::Authentic>(&judged)) {
    const std::size_t at = std::min(authentic->secret, telemetry::WebhookCounters::secrets_counted - 1);
    counters.by_secret.at(at).fetch_add(1, std::memory_order_relaxed);
    co_return *authentic;
  }
  if (const auto* fault = std::get_if<webhook::SignatureFault>(&judged)) {
    counters.by_fault.at(static_cast<std::size_t>(*fault)).fetch_add(1, std::memory_order_relaxed);
    detail_ = name(*fault);
    co_await refuse(ProblemType::signature_invalid);
    co_return std::nullopt;
  }
  const bool unknown_key = std::get<webhook::Wanted>(judged).refresh;
  const webhook::SignatureFault fault =
      unknown_key ? webhook::SignatureFault::mismatch : webhook::SignatureFault::no_key;
  counters.by_fault.at(static_cast<std::size_t>(fault)).fetch_add(1, std::memory_order_relaxed);
  detail_ = name(fault);
  if (unknown_key) {
    co_await refuse(ProblemType::signature_invalid);
    co_return std::nullopt;
  }
  note(telemetry::Ending::refused);
  Response later = policy::plain_reply(503, "The key that this delivery is signed with cannot be had right now.");
  later.fields.push_back({.name = "Retry-After", .value = "5"});
  co_await send(std::move(later));
  co_return std::nullopt;
}

// An event that was to be ordered, but says nothing of its order, is handed on in any case.
void Exchange::note_place(const policy::Identity& identity) {
  if (!webhook_->ordered || identity.order != nullptr) return;
  plan_->counters_of(*webhook_).unplaced.fetch_add(1, std::memory_order_relaxed);
}

// An event that a newer one of its object has overtaken: its sender must not send it again.
Task<void> Exchange::tell_superseded() {
  note(telemetry::Ending::superseded);
  Response reply = acknowledges(200) ? *acknowledgement() : Response{};
  co_await send(std::move(reply));
}

void Exchange::count_event() const {
  telemetry::WebhookCounters& counters = plan_->counters_of(*webhook_);
  if (upstream_time_.count() > 0) counters.handler_seconds.add(seconds(upstream_time_));
  if (const auto end = event_end_of(ending_, problem_)) telemetry::count(counters.by_end, *end);
  if (ending_ == telemetry::Ending::ran) counters.attempts.add(static_cast<double>(fence_));
}

// Whether what the handler said is replaced by what the sender wants to hear.
bool Exchange::acknowledges(std::uint16_t status) const {
  return webhook_ != nullptr && webhook_->rules.ack && status >= 200 && status < 300;
}

SharedResponse Exchange::acknowledgement() const {
  return std::make_shared<const Response>(webhook::acknowledgement_reply(*webhook_->rules.ack));
}

}  // namespace semel::gateway
