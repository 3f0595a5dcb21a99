// One request, top to bottom. Read this first.
//
//   which rule is it for? → look: its key and its fingerprint → once(): claim, decide, attempt at the upstream,
//   complete or release → what the client is told → the answer, the counts, the line of the log
//
// What is durable when: the claim before attempt() sends its first byte, the outcome before send() writes its first.
// Each step takes values and returns values. What a request has come to is one of them: Told.
#include "gateway/exchange.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/config.h"
#include "config/match.h"
#include "core/check.h"
#include "gateway/accepted_request.h"
#include "gateway/allowance.h"
#include "gateway/attempt.h"
#include "gateway/clue.h"
#include "gateway/delivery.h"
#include "gateway/incoming.h"
#include "gateway/intake.h"
#include "gateway/job.h"
#include "gateway/joint_claim.h"
#include "gateway/look.h"
#include "gateway/passage.h"
#include "gateway/plan.h"
#include "gateway/quotas.h"
#include "gateway/record.h"
#include "gateway/remind.h"
#include "gateway/revalidate.h"
#include "gateway/services.h"
#include "gateway/store_watch.h"
#include "gateway/tell.h"
#include "gateway/told.h"
#include "gateway/upstream_head.h"
#include "http/transaction.h"
#include "inbox/destination.h"
#include "policy/cors.h"
#include "policy/expression.h"
#include "policy/identify.h"
#include "policy/reply.h"
#include "policy/request_view.h"
#include "policy/route.h"
#include "policy/target.h"
#include "runtime/failpoint.h"
#include "telemetry/histogram.h"
#include "telemetry/metrics.h"
#include "webhook/event_batch.h"
#include "webhook/webhook.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::gateway {
namespace {

using telemetry::Ending;

constexpr Millis no_wait{0};
constexpr Millis retry_after_store{1'000};

// What an attempt leaves behind, beside the outcome for its key.
struct Trial {
  Trial(const Incoming& request, const Job& what);

  const Incoming& incoming;
  const Job& job;
  Allowance allowance;
  StoreWatch watch;
  std::chrono::nanoseconds asked{0};  // the store, for the key
  std::chrono::nanoseconds ended{0};  // of the attempt, if there was one
  std::optional<Told> first;          // for the caller whose request runs; null if the action never ran
};

// A request that was taken: the work that answers it, and what it counts for.
struct Taken {
  Task<Told> told;
  telemetry::RouteMetrics* route;
};

// The steps, in their order.
Taken take(const Incoming* incoming);
void tell_browsers(const Incoming& incoming, Told& told);
Task<Told> guard(const Incoming* incoming, const policy::Route* route);
Task<Told> receive(const Incoming* incoming, const webhook::Webhook* webhook);
Task<Told> go(const Incoming* incoming, Way* way);
Task<Told> run_once(const Incoming* incoming, const Job* job);
Task<Answer> claim(Trial* trial);
Task<JointAnswer> claim_together(Trial* trial, std::span<const policy::Identity> events);
Task<Outcome> attempt(Trial* trial, JointGrant grant);
Task<Outcome> probe(Trial* trial);
Task<Told> tell_without_store(const Incoming* incoming, const Job* job, std::string detail);

}  // namespace

Task<void> exchange(Services services, std::shared_ptr<const Plan> plan, http::Transaction* client) {
  const Incoming incoming = incoming_of(services, *plan, *client);
  Taken taken = take(&incoming);
  Told told = co_await std::move(taken.told);
  tell_browsers(incoming, told);
  co_await send(client, &told, &plan->config->reply, &services.metrics);
  record(incoming, *taken.route, told);
}

namespace {

Task<Told> already(Told told) {
  co_return told;
}

// The connection ends here: other servers would not read what follows such a method, so neither is it read here.
Told told_of_method(std::uint16_t status, std::string_view detail) {
  Told told = told_plainly(Ending::malformed, status, detail);
  told.close = true;
  return told;
}

Taken take(const Incoming* incoming) {
  const Plan& plan = incoming->plan;
  const auto here = [&plan](Told told) { return Taken{.told = already(std::move(told)), .route = plan.no_route}; };
  if (std::optional<Told> told = answer_here(*incoming)) return here(*std::move(told));
  if (asks_for_accepted(*incoming)) return {.told = show_accepted(incoming), .route = plan.no_route};
  const config::Match matched = config::match(incoming->config(), incoming->request.method, incoming->request.path);
  if (const auto* guarded = std::get_if<config::Guarded>(&matched)) {
    return {.told = guard(incoming, guarded->route), .route = &plan.metrics_of(*guarded->route)};
  }
  if (const auto* open = std::get_if<config::Unguarded>(&matched)) {
    return {.told = pass(incoming, &open->route->target), .route = &plan.metrics_of(*open->route)};
  }
  if (const auto* call = std::get_if<config::WebhookCall>(&matched)) {
    return {.told = receive(incoming, call->webhook), .route = &plan.metrics_of(*call->webhook)};
  }
  if (const auto* doubtful = std::get_if<config::DoubtfulPath>(&matched)) {
    const std::string why = "The path holds " + std::string(doubtful->why) + ", which programs read in different ways.";
    return here(told_plainly(Ending::malformed, 400, why));
  }
  if (const auto* alike = std::get_if<config::LookAlike>(&matched)) {
    return here(told_plainly(Ending::malformed, 400, config::detail_of(*alike)));
  }
  if (std::holds_alternative<config::MisspelledMethod>(matched)) {
    return here(told_of_method(400, config::misspelled_detail));
  }
  if (std::holds_alternative<config::UnknownMethod>(matched)) {
    return here(told_of_method(501, config::unknown_method_detail));
  }
  return here(told_refusal(Problem::of(ProblemType::no_route), no_wait, incoming->config().reply));
}

// server.cors: what the service has answered, now or before, it has dressed for browsers itself; the rest is ours.
void tell_browsers(const Incoming& incoming, Told& told) {
  const std::optional<policy::Cors>& cors = incoming.config().server.cors;
  if (!cors || told.preflight) return;
  const std::string& marker = incoming.config().reply.replayed_header;
  std::optional<Field> exposed = policy::exposed_marks(*cors, incoming.request, marker);
  if (auto* const upstreams = std::get_if<UpstreamReply>(&told.reply)) {
    upstreams->exposed = std::move(exposed);
    return;
  }
  auto* const own = std::get_if<OwnReply>(&told.reply);
  if (own == nullptr) return;
  if (!own->has_stored_body()) {
    policy::add_cors(*cors, incoming.request, marker, own->response);
  } else if (exposed) {
    own->response.fields.push_back(*std::move(exposed));
  }
}

// Of a delivery of several. No shares: it did not run.
std::vector<EventTold> events_of(const Job& job, std::span<const EventShare> shares) {
  std::vector<EventTold> events;
  if (!job.batch) return events;
  for (const policy::Identity& event : job.batch->identities) events.push_back({.id = event.key.id});
  for (std::size_t i = 0; i < shares.size(); ++i) {
    events[i].fence = shares[i].fence;
    events[i].superseded = shares[i].superseded;
  }
  return events;
}

// For the log: the key and the event that it was about. And a clue for the doctor.
void label(const Incoming& incoming, Told& told, Way& way) {
  auto* const job = std::get_if<Job>(&way);
  if (job == nullptr) return;
  told.clue = clue_of(incoming, *job, told);
  if (!job->batch) told.key = std::move(job->identity.key);
  if (told.events.empty()) told.events = events_of(*job, {});
  told.shape = job->identity.shape;
  told.event = std::move(job->event);
}

Task<Told> guard(const Incoming* incoming, const policy::Route* route) {
  runtime::failpoint("request-parsed");
  std::string body;
  Way way = co_await look_at_request(incoming, route, &body);
  const Job* const job = std::get_if<Job>(&way);
  const inbox::InboxRules* const intake = job == nullptr ? nullptr : intake_of(*incoming, *route);
  Task<Told> work = intake != nullptr ? take_request(incoming, route, intake, job) : go(incoming, &way);
  Told told = co_await std::move(work);
  if (told.ending == Ending::replayed && route->revalidate) {
    told = co_await revalidated(incoming, &std::get<Job>(way), &*route->revalidate, std::move(told));
  }
  label(*incoming, told, way);
  co_return told;
}

Task<Told> receive(const Incoming* incoming, const webhook::Webhook* webhook) {
  std::string body;
  Way way = co_await look_at_delivery(incoming, webhook, &body);
  const bool to_inbox = webhook->intake && incoming->services.dispatcher != nullptr;
  Task<Told> work = to_inbox ? take_in(incoming, webhook, &way) : go(incoming, &way);
  Told told = co_await std::move(work);
  label(*incoming, told, way);
  count_event(*incoming, *webhook, told);
  co_return told;
}

Task<Told> go(const Incoming* incoming, Way* way) {
  if (auto* told = std::get_if<Told>(way)) return already(std::move(*told));
  if (const auto* streamed = std::get_if<Streamed>(way)) return pass(incoming, streamed->target);
  if (auto* without = std::get_if<WithoutKey>(way)) return forward(incoming, std::move(*without), nullptr);
  return run_once(incoming, &std::get<Job>(*way));
}

Millis time_for_store(const Incoming& incoming, const Policy& policy) {
  const Millis time = incoming.config().limits.store_timeout;
  return policy.in_flight == Policy::InFlight::wait ? time + policy.wait_max : time;  // for another request, too
}

Trial::Trial(const Incoming& request, const Job& what)
    : incoming(request),
      job(what),
      allowance(request, what),
      watch(request, time_for_store(request, what.target->policy),
            [this] { return tell_without_store(&incoming, &job, "the store did not answer in time"); }) {}

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

Told told_over_quota(const Incoming& incoming, const Quotas::Refusal& refusal) {
  return told_refusal(Problem::of(refusal.problem), refusal.retry_after, incoming.config().reply);
}

bool says_store_down(const Answer& answer) {
  const auto* const refused = std::get_if<Refused>(&answer);
  return refused != nullptr && refused->problem.type == ProblemType::store_unavailable;
}

Task<Told> run_once(const Incoming* incoming, const Job* job) {
  if (std::optional<Told> hot = replay_hot(*incoming, *job)) co_return *std::move(hot);
  Trial trial(*incoming, *job);
  if (const auto over = trial.allowance.refusal()) co_return told_over_quota(*incoming, *over);

  telemetry::Metrics& metrics = incoming->services.metrics;
  metrics.in_flight.fetch_add(1, std::memory_order_relaxed);
  trial.watch.start();
  trial.asked = incoming->services.clock.stopwatch();
  JointAnswer joint;
  if (job->batch) {
    joint = co_await claim_together(&trial, job->batch->identities);
  } else {
    joint.answer = co_await claim(&trial);
  }
  metrics.in_flight.fetch_sub(1, std::memory_order_relaxed);
  if (!trial.watch.in_time()) co_return co_await trial.watch.told();

  if (trial.first) metrics.complete_seconds.add(seconds(incoming->services.clock.stopwatch() - trial.ended));
  if (says_store_down(joint.answer)) {
    metrics.store_errors.fetch_add(1, std::memory_order_relaxed);
    auto& refused = std::get<Refused>(joint.answer);
    co_return co_await tell_without_store(incoming, job, std::move(refused.detail));
  }
  co_return tell(*incoming, *job, joint, trial.first);
}

// The one key of a request or an event.
Task<Answer> claim(Trial* trial) {
  const Job& job = trial->job;
  const policy::Identity& identity = job.identity;
  Action act = [trial](Fence fence) {
    static constexpr bool ours = true;
    return attempt(trial, {.ours = std::span(&ours, 1), .fence = fence});
  };
  Probe ask;
  if (job.probe != nullptr) ask = [trial] { return probe(trial); };
  return trial->incoming.services.once.run(identity.key, identity.fingerprint, job.target->policy, std::move(act),
                                           std::move(ask), identity.order);
}

// Those of all events of a delivery.
Task<JointAnswer> claim_together(Trial* trial, std::span<const policy::Identity> events) {
  const Services& services = trial->incoming.services;
  JointAction act = [trial](JointGrant grant) { return attempt(trial, grant); };
  return run_jointly(&services.once, &services.clock, events, &trial->job.target->policy, services.companies.next(),
                     std::move(act));
}

// Nothing was sent, so a retry may run.
Outcome untouched() {
  return {.verdict = Verdict::release, .response = std::make_shared<Response>()};
}

// The body of a batch with only the events that nobody has handled yet, in the order in which they came.
std::string remaining_body(const webhook::EventBatch& batch, std::string_view body, std::span<const bool> ours) {
  std::vector<bool> keep(batch.items.size(), false);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i]) keep[batch.firsts[i]] = true;
  }
  return webhook::body_with(body, batch.items, keep);
}

Task<Outcome> attempt(Trial* trial, JointGrant grant) {
  const Incoming& incoming = trial->incoming;
  const Job& job = trial->job;
  core::check(!trial->first, "a request is attempted at most once");
  if (!trial->watch.in_time()) co_return untouched();
  if (const auto over = trial->allowance.admit()) {
    trial->first = told_over_quota(incoming, *over);
    trial->ended = incoming.services.clock.stopwatch();
    co_return untouched();
  }
  runtime::failpoint("claim-granted");
  if (!job.resolved.empty()) co_await remind(&incoming, &job);
  const std::chrono::nanoseconds began = incoming.services.clock.stopwatch();
  incoming.services.metrics.claim_seconds.add(seconds(began - trial->asked));
  policy::RequestView request = job.request;
  std::string rest;
  if (job.batch) request.body = rest = remaining_body(*job.batch, job.request.body, grant.ours);
  const config::UpstreamConfig& upstream = incoming.config().upstreams[job.target->upstream];
  auto made = std::make_unique<Attempt>(incoming.upstream(job.target->upstream), upstream, *job.target,
                                        incoming.config().reply.replayed_header);
  const Onward onward{.attempt = grant.fence.number, .body = frame_of(incoming, request)};
  std::string head = upstream_head(upstream, request, hop_of(incoming), onward);
  Outcome outcome = co_await made->run(std::move(head), request.body);
  trial->ended = incoming.services.clock.stopwatch();
  incoming.services.metrics.upstream_seconds.add(seconds(trial->ended - began));
  trial->first = told_first(incoming, job, std::move(made), outcome);
  trial->first->upstream_time = trial->ended - began;
  trial->first->upstream = upstream.name;
  trial->first->fence = grant.fence.number;
  trial->first->events = events_of(job, grant.shares);
  if (!job.batch) incoming.services.shapes.put(job.identity.fingerprint, job.identity.shape);
  trial->allowance.settle(outcome);
  // Nobody answered: once() is told what that means for the key, and `first` what the caller hears.
  if (outcome.response == nullptr) outcome.response = std::make_shared<Response>();
  co_return outcome;
}

// Asks the upstream how an earlier attempt ended. The store is watched again afterwards.
Task<Outcome> probe(Trial* trial) {
  const Incoming& incoming = trial->incoming;
  const Job& job = trial->job;
  const auto target = policy::render_target(*job.probe, job.request, job.identity.key_text);
  if (!target || !trial->watch.in_time()) co_return Outcome{};
  const config::UpstreamConfig& upstream = incoming.config().upstreams[job.target->upstream];
  Attempt asking(incoming.upstream(job.target->upstream), upstream, *job.target,
                 incoming.config().reply.replayed_header);
  Outcome outcome = co_await asking.ask(probe_head(upstream, job.request, hop_of(incoming), *target));
  trial->watch.start();
  co_return outcome;
}

// A request that no store can judge is refused, unless its route lets it go on without.
Task<Told> tell_without_store(const Incoming* incoming, const Job* job, std::string detail) {
  if (job->target->on_store_down == policy::OnStoreDown::forward) {
    WithoutKey unguarded{.target = job->target, .request = job->request, .ending = Ending::unkeyed};
    return forward(incoming, std::move(unguarded), &job->target->policy);
  }
  return already(told_refusal(Problem::of(ProblemType::store_unavailable), retry_after_store, incoming->config().reply,
                              {}, std::move(detail)));
}

}  // namespace
}  // namespace semel::gateway
