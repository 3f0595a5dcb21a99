// An event from its verified delivery to its place in the inbox.
#include "gateway/intake.h"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/config.h"
#include "core/check.h"
#include "core/event_id.h"
#include "gateway/delivery.h"
#include "gateway/dispatcher.h"
#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/parcel.h"
#include "gateway/passage.h"
#include "gateway/placement.h"
#include "gateway/services.h"
#include "gateway/told.h"
#include "inbox/destination.h"
#include "inbox/event_view.h"
#include "policy/identify.h"
#include "policy/reply.h"
#include "policy/request_view.h"
#include "runtime/failpoint.h"
#include "store/inbox.h"
#include "telemetry/metrics.h"
#include "webhook/event.h"
#include "webhook/event_batch.h"
#include "webhook/webhook.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::gateway {
namespace {

using telemetry::Ending;

constexpr Millis full_retry_after{10'000};
constexpr Millis busy_retry_after{1'000};
constexpr std::string_view event_field = "Semel-Event";

// One event of a delivery.
struct Arrival {
  policy::Identity identity;
  std::string body;
  webhook::EventLabels labels;
};

store::Line line_of(const webhook::Webhook& webhook, const inbox::InboxRules& intake, const Arrival& arrival,
                    std::string_view path) {
  store::Line line;
  const policy::Identity& identity = arrival.identity;
  if (identity.order == nullptr || intake.order == inbox::EventOrder::none) {
    const std::string& object = arrival.labels.object;  // by which operators find its events
    const auto key =
        object.empty() ? std::nullopt : webhook::object_key(webhook.rules.event, webhook.space, path, object);
    if (key) std::memcpy(line.object.data(), key->id.data(), line.object.size());
    return line;
  }
  line.kind = intake.order == inbox::EventOrder::fifo ? store::Line::Kind::fifo : store::Line::Kind::latest;
  std::memcpy(line.object.data(), identity.order->object.id.data(), line.object.size());
  line.stamp = identity.order->stamp;
  if (line.kind != store::Line::Kind::fifo) return line;
  line.reorder = intake.reorder;
  line.blocks = intake.on_dead == inbox::OnDead::block;
  return line;
}

// The events of a delivery. One of a batch gets a body in which it is the only one.
std::vector<Arrival> arrivals_of(const webhook::Webhook& webhook, const Job& job) {
  std::vector<Arrival> arrivals;
  if (!job.batch) {
    arrivals.push_back({.identity = job.identity, .body = std::string(job.request.body), .labels = job.event});
    return arrivals;
  }
  const webhook::EventBatch& batch = *job.batch;
  for (std::size_t i = 0; i < batch.identities.size(); ++i) {
    std::vector<bool> keep(batch.items.size(), false);
    keep[batch.firsts[i]] = true;
    policy::RequestView item = job.request;
    item.body = batch.items[batch.firsts[i]];
    arrivals.push_back({.identity = batch.identities[i],
                        .body = webhook::body_with(job.request.body, batch.items, keep),
                        .labels = webhook::describe_event(webhook.rules, item)});
  }
  return arrivals;
}

// An event of a provider whose events have no names: each that arrives is one of its own.
Job job_without_key(const Incoming& incoming, const webhook::Webhook& webhook, WithoutKey& without) {
  Job job{.target = without.target, .webhook = &webhook, .request = without.request};
  job.event = std::move(without.event);
  const std::string name =
      std::to_string(incoming.services.companies.next()) + "." + std::to_string(incoming.services.companies.next());
  Result<Key> key = make_key(webhook.space, {}, name);
  if (key) job.identity.key = *std::move(key);
  return job;
}

Told acknowledged(const webhook::Webhook& webhook, Ending ending) {
  Told told{.ending = ending};
  told.reply = OwnReply{.response = acknowledgement(&webhook)};
  return told;
}

Told told_unavailable(const Incoming& incoming, std::string detail) {
  incoming.services.dispatcher->metrics().refused.fetch_add(1, std::memory_order_relaxed);
  return told_refusal(Problem::of(ProblemType::store_unavailable), full_retry_after, incoming.config().reply, {},
                      std::move(detail));
}

// What a duplicate hears: the state of its key says it.
Told told_known(const Incoming& incoming, const webhook::Webhook& webhook, const policy::Identity& identity,
                const Record& record) {
  const policy::ReplyConfig& reply = incoming.config().reply;
  if (record.fingerprint != identity.fingerprint) {
    return told_refusal(Problem::of(ProblemType::key_reused), Millis{0}, reply);
  }
  if (record.state == Record::State::done) return acknowledged(webhook, Ending::replayed);
  if (record.state == Record::State::running) {
    return told_refusal(Problem::of(ProblemType::in_flight), busy_retry_after, reply);
  }
  return told_refusal(Problem::of(ProblemType::outcome_unknown), busy_retry_after, reply);
}

Task<Told> take_in_one(const Incoming* incoming, const webhook::Webhook* webhook, const Job* job,
                       const Arrival* arrival) {
  const inbox::InboxRules& intake = core::present(webhook->intake, "a webhook with an inbox says how it is filled");
  inbox::EventView event{.request = job->request, .type = arrival->labels.type, .object = arrival->labels.object};
  event.request.body = arrival->body;
  const Packing packing{.credentials = intake.credentials, .sender = {}};
  const std::shared_ptr<const store::Parcel> parcel = pack(event, hop_of(*incoming), packing);
  const store::Line line = line_of(*webhook, intake, *arrival, job->request.path);
  const Start start = line.reorder == Millis{0} ? Start::at_once : Start::later;
  std::vector<store::AcceptOrder::To> to = destinations_of(*incoming, intake, event, start);
  store::AcceptOrder order{.key = arrival->identity.key,
                           .fingerprint = arrival->identity.fingerprint,
                           .ttl = webhook->target.policy.ttl,
                           .owner = incoming->services.companies.next(),
                           .source = webhook->path.text,
                           .type = arrival->labels.type,
                           .line = line,
                           .to = to,
                           .parcel = parcel,
                           .depth_max = intake.depth_max,
                           .bytes_max = incoming->config().inbox.bytes_max,
                           .retain_ended = incoming->config().inbox.retain_done};
  store::AcceptReply reply = [webhook](const core::EventId& id, const Key&, const Fence&) {
    Response response = acknowledgement(webhook);
    response.fields.push_back({.name = std::string(event_field), .value = id.text()});
    return std::make_shared<const Response>(std::move(response));
  };
  const Result<store::Acceptance> accepted =
      co_await incoming->services.dispatcher->inbox().accept(std::move(order), std::move(reply));
  const store::AcceptedEvent* const taken = accepted ? std::get_if<store::AcceptedEvent>(&*accepted) : nullptr;
  runtime::failpoint("event-kept");
  follow_up(*incoming, to, taken, parcel);
  if (!accepted) co_return told_unavailable(*incoming, accepted.error().detail);
  if (const auto* full = std::get_if<store::InboxFull>(&*accepted)) co_return told_unavailable(*incoming, full->what);
  if (const auto* known = std::get_if<store::KnownEvent>(&*accepted)) {
    co_return told_known(*incoming, *webhook, arrival->identity, known->held.record);
  }
  co_return acknowledged(*webhook, Ending::accepted);
}

}  // namespace

Task<Told> take_in(const Incoming* incoming, const webhook::Webhook* webhook, Way* way) {
  if (auto* told = std::get_if<Told>(way)) co_return std::move(*told);
  if (auto* without = std::get_if<WithoutKey>(way)) *way = job_without_key(*incoming, *webhook, *without);
  const Job* const job = std::get_if<Job>(way);
  if (job == nullptr) co_return told_unavailable(*incoming, "a delivery that is streamed cannot be kept");
  const std::vector<Arrival> arrivals = arrivals_of(*webhook, *job);
  Told last = acknowledged(*webhook, Ending::replayed);
  bool fresh = arrivals.empty();
  for (const Arrival& arrival : arrivals) {
    Told told = co_await take_in_one(incoming, webhook, job, &arrival);
    const bool taken = told.ending == Ending::accepted || told.ending == Ending::replayed;
    if (!taken) co_return told;  // those before it are in the inbox, and are known when the delivery comes again
    fresh = fresh || told.ending == Ending::accepted;
    last = std::move(told);
  }
  last.ending = fresh ? Ending::accepted : Ending::replayed;
  co_return last;
}

}  // namespace semel::gateway
