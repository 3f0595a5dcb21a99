// An event from its arrival to its claim. From there it goes the way of any guarded request: run_once() in exchange.cc.
#include "gateway/delivery.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "gateway/body.h"
#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/told.h"
#include "http/failure.h"
#include "http/fetch.h"
#include "policy/identify.h"
#include "policy/reply.h"
#include "policy/request_view.h"
#include "telemetry/awaited_events.h"
#include "telemetry/histogram.h"
#include "telemetry/metrics.h"
#include "telemetry/webhook_metrics.h"
#include "webhook/authenticate.h"
#include "webhook/event.h"
#include "webhook/event_batch.h"
#include "webhook/fetched_keys.h"
#include "webhook/handshake.h"
#include "webhook/inquiry.h"
#include "webhook/opened.h"
#include "webhook/provider.h"
#include "webhook/signatures.h"
#include "webhook/webhook.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

using telemetry::Ending;

constexpr Millis no_wait{0};

std::optional<telemetry::EventEnd> event_end_of(Ending ending, std::optional<ProblemType> problem) {
  using telemetry::EventEnd;
  switch (ending) {
    case Ending::ran:
      return EventEnd::handled;
    case Ending::released:
      return EventEnd::failed;
    case Ending::unknown:
      return EventEnd::unknown;
    case Ending::replayed:
      return EventEnd::duplicate;
    case Ending::superseded:
      return EventEnd::out_of_order;
    case Ending::refused:
      if (problem == ProblemType::in_flight) return EventEnd::in_flight;
      if (problem == ProblemType::upstream_unreachable) return EventEnd::failed;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// Whether the sender was told to come again, or that all is well. Null if neither follows: another delivery of the
// event is under way, or this was another event under its name.
std::optional<bool> comes_again(const Told& told) {
  switch (told.ending) {
    case Ending::released:
    case Ending::unknown:
      return true;
    case Ending::refused:
      if (told.problem == ProblemType::upstream_unreachable || told.problem == ProblemType::store_unavailable)
        return true;
      return std::nullopt;
    case Ending::ran:
    case Ending::replayed:
    case Ending::superseded:
    case Ending::accepted:
      return false;
    default:
      return std::nullopt;
  }
}

void await_or_forget(telemetry::AwaitedEvents& awaited, const Told& told, Time now) {
  const std::optional<bool> again = comes_again(told);
  if (!again) return;
  const auto note = [&](const Digest& key) { *again ? awaited.add(key, now) : awaited.forget(key); };
  if (told.key) note(told.key->id);
  for (const EventTold& event : told.events) note(event.id);
}

void count_handshake(const Incoming& incoming, const webhook::Webhook& webhook, bool accepted) {
  telemetry::WebhookCounters& counters = incoming.plan.counters_of(webhook);
  auto& counter = accepted ? counters.handshakes : counters.handshakes_refused;
  counter.fetch_add(1, std::memory_order_relaxed);
}

// Null if the request is no handshake of this stage.
std::optional<Told> shake_hands(const Incoming& incoming, const webhook::Webhook& webhook,
                                const policy::RequestView& request, webhook::Stage stage) {
  auto answer = webhook::answer_handshake(webhook.rules, webhook.lock, webhook.verify_token, request, stage);
  if (!answer) return std::nullopt;
  count_handshake(incoming, webhook, answer->accepted);
  Told told{.ending = answer->accepted ? Ending::passed : Ending::refused,
            .detail = answer->accepted ? "handshake" : "handshake refused"};
  told.reply = OwnReply{.response = std::move(answer->response)};
  return told;
}

// Null if the sender asks for no confirmation. The address is visited only if it is the sender's own, whatever an
// authentic request says.
Task<std::optional<Told>> confirm(const Incoming* incoming, const webhook::Webhook* webhook, std::size_t scheme,
                                  policy::RequestView request) {
  if (!webhook->confirm_subscriptions) co_return std::nullopt;
  const auto asked = webhook::confirmation_of(webhook->rules.schemes[scheme], request);
  if (!asked) co_return std::nullopt;
  bool confirmed = false;
  if (!asked->url.empty()) {
    http::FetchOrder order{.url = asked->url, .body = {}};
    const http::Try<std::string> visited =
        co_await http::fetch(std::move(order), &incoming->services.clock, incoming->client.executor());
    confirmed = visited.has_value();
  }
  count_handshake(*incoming, *webhook, confirmed);
  Told told{.ending = confirmed ? Ending::passed : Ending::refused,
            .detail = confirmed ? "subscription confirmed" : "subscription not confirmed"};
  Response reply = confirmed ? Response{} : policy::plain_reply(502, "The subscription could not be confirmed.");
  told.reply = OwnReply{.response = std::move(reply)};
  co_return told;
}

Told told_not_authentic(const Incoming& incoming, webhook::SignatureFault fault) {
  if (fault != webhook::SignatureFault::no_key) {
    return told_refusal(Problem::of(ProblemType::signature_invalid), no_wait, incoming.config().reply, {},
                        std::string(name(fault)));
  }
  Told told = told_plainly(Ending::refused, 503, "Whether this delivery is authentic cannot be told right now.");
  std::get<OwnReply>(told.reply).response.fields.push_back({.name = "Retry-After", .value = "5"});
  told.detail = name(fault);
  return told;
}

// Whether the provider itself says that it sent what has passed here. Null if all is well.
Task<std::optional<webhook::SignatureFault>> inquire(const Incoming* incoming, const webhook::Webhook* webhook,
                                                     const webhook::Authentic* authentic, policy::RequestView request) {
  if (!webhook->api_key) co_return std::nullopt;
  auto inquiry = webhook::inquiry_about(webhook->rules, webhook->lock, *authentic, *webhook->api_key, request);
  if (!inquiry) co_return webhook::SignatureFault::malformed;
  const std::optional<bool> sent = co_await incoming->services.inquiries.ask(*std::move(inquiry), webhook->space);
  if (!sent) co_return webhook::SignatureFault::no_key;
  if (!*sent) co_return webhook::SignatureFault::mismatch;
  co_return std::nullopt;
}

// A key that has to be fetched first is fetched; without it nobody can say whether the delivery is authentic, so the
// sender is asked to come again.
Task<std::variant<webhook::Authentic, Told>> verify(const Incoming* incoming, const webhook::Webhook* webhook,
                                                    policy::RequestView request) {
  telemetry::WebhookCounters& counters = incoming->plan.counters_of(*webhook);
  const webhook::Documents documents = [&](const std::string& name) { return incoming->services.keys.find(name); };
  const auto judge = [&] {
    return webhook::judge_delivery(webhook->rules, webhook->lock, request, incoming->services.clock.wall(), documents);
  };
  webhook::Judged judged = judge();
  if (const auto* wanted = std::get_if<webhook::Wanted>(&judged)) {
    const bool fetched = co_await incoming->services.keys.fetch(*wanted, webhook->space);
    if (fetched) judged = judge();
  }
  if (const auto* passed = std::get_if<webhook::Authentic>(&judged)) {
    const auto denied = co_await inquire(incoming, webhook, passed, request);
    if (denied) judged = *denied;
  }
  if (auto* authentic = std::get_if<webhook::Authentic>(&judged)) {
    const std::size_t at = std::min(authentic->secret, telemetry::WebhookCounters::secrets_counted - 1);
    counters.by_secret.at(at).fetch_add(1, std::memory_order_relaxed);
    const Time now = incoming->services.clock.wall();
    counters.senders.matched_at.at(at).store(now.time_since_epoch().count(), std::memory_order_relaxed);
    if (!authentic->document.empty()) incoming->services.keys.confirm(authentic->document);
    co_return std::move(*authentic);
  }
  auto fault = webhook::SignatureFault::no_key;
  if (const auto* wanted = std::get_if<webhook::Wanted>(&judged); wanted != nullptr && wanted->refresh) {
    fault = webhook::SignatureFault::mismatch;  // the provider's newest keys do not have the one that is named
  }
  if (const auto* found = std::get_if<webhook::SignatureFault>(&judged)) fault = *found;
  counters.by_fault.at(static_cast<std::size_t>(fault)).fetch_add(1, std::memory_order_relaxed);
  counters.senders.strangers.add(incoming->request.ip, fault, incoming->services.clock.wall());
  co_return told_not_authentic(*incoming, fault);
}

// An event that was to be ordered, but says nothing of its order, is handed on in any case.
void count_unplaced(const Incoming& incoming, const Job& job) {
  if (!job.webhook->ordered) return;
  for (const policy::Identity& event : job.events()) {
    if (event.order == nullptr)
      incoming.plan.counters_of(*job.webhook).unplaced.fetch_add(1, std::memory_order_relaxed);
  }
}

Told told_refused_event(const Incoming& incoming, const policy::Refusal& refusal) {
  return told_refusal(refusal.problem, no_wait, incoming.config().reply, refusal.detail);
}

Way identify(const Incoming& incoming, const webhook::Webhook& webhook, const webhook::Authentic& authentic,
             const policy::RequestView& request) {
  const webhook::EventPlace place{.space = webhook.space,
                                  .key_from = webhook.event_key ? &*webhook.event_key : nullptr,
                                  .ordered = webhook.ordered};
  Job job{.target = &webhook.target, .webhook = &webhook, .request = request};
  webhook::Split split = webhook::split_batch(webhook.rules, place, authentic, request);
  if (const auto* refusal = std::get_if<policy::Refusal>(&split)) return told_refused_event(incoming, *refusal);
  if (auto* batch = std::get_if<webhook::EventBatch>(&split)) {
    policy::RequestView first = request;
    if (!batch->items.empty()) first.body = batch->items.front();
    job.event = webhook::describe_event(webhook.rules, first);
    job.batch = std::move(*batch);
    count_unplaced(incoming, job);
    return job;
  }
  policy::Identified identified = webhook::identify_event(webhook.rules, place, proof_of(authentic), request);
  job.event = webhook::describe_event(webhook.rules, request);
  if (const auto* refusal = std::get_if<policy::Refusal>(&identified)) {
    Told told = told_refused_event(incoming, *refusal);
    told.event = std::move(job.event);
    return told;
  }
  auto* const identity = std::get_if<policy::Identity>(&identified);
  if (identity == nullptr) {
    return WithoutKey{
        .target = &webhook.target, .request = request, .ending = Ending::unkeyed, .event = std::move(job.event)};
  }
  job.identity = std::move(*identity);
  count_unplaced(incoming, job);
  return job;
}

// Signatures do not cover the method, and many servers answer OPTIONS and HEAD with a success on their own: the event
// would count as handled although no handler has seen it.
Told told_not_posted() {
  Response reply = policy::plain_reply(405, "A delivery is a POST.");
  reply.fields.push_back({.name = "Allow", .value = "POST"});
  Told told{.ending = Ending::malformed};
  told.reply = OwnReply{.response = std::move(reply)};
  return told;
}

}  // namespace

Task<Way> look_at_delivery(const Incoming* incoming, const webhook::Webhook* webhook, std::string* body) {
  const auto wait =
      incoming->plan.limiter_of(*webhook).take(*webhook, incoming->request.ip, incoming->services.clock.now());
  if (wait) {
    Told told = told_refusal(Problem::of(ProblemType::rate_limited), *wait, incoming->config().reply);
    told.close = true;
    co_return told;
  }
  http::Try<std::string> read = co_await read_body(*incoming);
  if (!read) co_return told_bad_body(*incoming, read.error());
  *body = *std::move(read);
  policy::RequestView request = incoming->request;
  request.body = *body;
  request = webhook::opened(webhook->rules, request);

  using webhook::Stage;
  if (auto hello = shake_hands(*incoming, *webhook, request, Stage::before_signature)) co_return *std::move(hello);
  auto verified = co_await verify(incoming, webhook, request);
  if (auto* told = std::get_if<Told>(&verified)) co_return std::move(*told);
  const webhook::Authentic& authentic = std::get<webhook::Authentic>(verified);
  if (auto hello = shake_hands(*incoming, *webhook, request, Stage::after_signature)) co_return *std::move(hello);
  if (request.method != "POST") co_return told_not_posted();
  auto confirmed = co_await confirm(incoming, webhook, authentic.scheme, request);
  if (confirmed) co_return *std::move(confirmed);
  co_return identify(*incoming, *webhook, authentic, request);
}

bool acknowledges(const webhook::Webhook* webhook, std::uint16_t status) {
  return webhook != nullptr && webhook->rules.ack && status >= 200 && status < 300;
}

Response acknowledgement(const webhook::Webhook* webhook) {
  if (webhook == nullptr || !webhook->rules.ack) return {};
  return webhook::acknowledgement_reply(*webhook->rules.ack);
}

void count_event(const Incoming& incoming, const webhook::Webhook& webhook, const Told& told) {
  telemetry::WebhookCounters& counters = incoming.plan.counters_of(webhook);
  const double seconds = std::chrono::duration<double>(told.upstream_time).count();
  if (seconds > 0) counters.handler_seconds.add(seconds);
  if (const auto end = event_end_of(told.ending, told.problem)) telemetry::count(counters.by_end, *end);
  if (told.ending == Ending::ran) counters.attempts.add(static_cast<double>(told.fence));
  await_or_forget(counters.senders.awaited, told, incoming.services.clock.wall());
}

}  // namespace semel::gateway
