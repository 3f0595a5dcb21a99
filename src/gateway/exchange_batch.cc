// A delivery of several events: claims inside claims.
//
// Each event is claimed by once() with the claims of the rest as its action, and the innermost action is the one
// attempt at the upstream, with the events that were claimed. So they all end as the attempt ends, and if one of them
// is taken, those before it are released and the sender is told to come again.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config/config.h"
#include "gateway/attempt.h"
#include "gateway/exchange.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "telemetry/metrics.h"
#include "telemetry/webhook_metrics.h"
#include "webhook/event.h"
#include "webhook/event_batch.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::gateway {
namespace {

constexpr Millis a_day{86'400'000};

}  // namespace

struct Exchange::BatchRun {
  const webhook::Webhook* webhook;
  webhook::EventBatch batch;
  std::vector<bool> fresh;  // by event: claimed by this delivery
  std::vector<Fence> fences{};
  Time expires_at{};
  std::optional<Refused> refused{};
  std::size_t superseded = 0;

  // Events of one object that come together do not wait for each other.
  [[nodiscard]] SharedOrder order_of(const policy::Identity& identity) const {
    if (identity.order == nullptr || fences.empty()) return identity.order;
    Order order = *identity.order;
    order.company = fences.front().owner;
    return std::make_shared<const Order>(std::move(order));
  }
};

Task<void> Exchange::receive_batch(const webhook::Webhook* webhook, webhook::EventBatch batch) {
  policy::RequestView first = request_;
  if (!batch.items.empty()) first.body = batch.items.front();
  event_ = webhook::describe_event(webhook->rules, first);
  guarded_by_ = &webhook->target.policy;
  for (const policy::Identity& identity : batch.identities) note_place(identity);
  BatchRun run{.webhook = webhook, .batch = std::move(batch), .fresh = {}};
  run.fresh.resize(run.batch.identities.size(), false);
  watch_store(&webhook->target);
  asked_ = services_.clock.stopwatch();
  Outcome outcome = co_await claim_rest(&run, 0);
  if (given_up_) {
    co_await given_up_->wait(a_day);  // it is bounded by what it waits for itself
    co_return;
  }
  client_.silence();
  const bool all_superseded = run.superseded > 0 && run.superseded == run.batch.identities.size();
  const std::size_t beside = all_superseded ? run.superseded - 1 : run.superseded;  // the delivery itself counts as one
  plan_->counters_of(*webhook).by_end.at(static_cast<std::size_t>(telemetry::EventEnd::out_of_order)).fetch_add(beside);
  if (run.refused) {
    detail_ = std::move(run.refused->detail);
    co_await refuse(run.refused->problem, run.refused->retry_after);
    if (attempt_) note(telemetry::Ending::unknown);
    co_return;
  }
  if (attempt_) {
    Ran ran{.outcome = std::move(outcome), .fence = run.fences.back(), .expires_at = run.expires_at};
    fence_ = ran.fence.number;
    co_await tell_first(std::move(ran));
    co_return;
  }
  if (all_superseded) {
    co_await tell_superseded();
    co_return;
  }
  note(telemetry::Ending::replayed);
  Response reply = acknowledges(200) ? *acknowledgement() : Response{};
  reply.fields.push_back({.name = config().reply.replayed_header, .value = "true"});
  co_await send(std::move(reply));
}

// Claims the events from `at` on, and when there are no more of them hands on those that were free.
Task<Outcome> Exchange::claim_rest(BatchRun* run, std::size_t at) {
  for (; at < run->batch.identities.size(); ++at) {
    const policy::Identity& identity = run->batch.identities[at];
    Action act = [this, run, at](Fence fence) {
      run->fresh[at] = true;
      run->fences.push_back(fence);
      return claim_rest(run, at + 1);
    };
    Answer answer = co_await services_.once.run(identity.key, identity.fingerprint, run->webhook->target.policy,
                                                std::move(act), Probe(), run->order_of(identity));
    if (auto* ran = std::get_if<Ran>(&answer)) {
      run->expires_at = ran->expires_at;
      co_return std::move(ran->outcome);
    }
    if (std::holds_alternative<Superseded>(answer)) ++run->superseded;
    if (auto* refused = std::get_if<Refused>(&answer)) {
      if (!run->refused) run->refused = std::move(*refused);
      // Once the attempt was made, only it knows what became of the events.
      co_return Outcome{.verdict = attempt_ ? Verdict::unknown : Verdict::release,
                        .response = std::make_shared<Response>()};
    }
  }
  const bool nothing_left = std::ranges::find(run->fresh, true) == run->fresh.end();
  if (nothing_left) co_return Outcome{.verdict = Verdict::release, .response = std::make_shared<Response>()};
  co_return co_await attempt_batch(run);
}

Task<Outcome> Exchange::attempt_batch(BatchRun* run) {
  std::vector<bool> keep(run->batch.items.size(), false);
  for (std::size_t i = 0; i < run->fresh.size(); ++i) {
    if (run->fresh[i]) keep[run->batch.firsts[i]] = true;
  }
  const bool whole = run->fresh.size() == run->batch.items.size();
  if (!whole || std::ranges::find(run->fresh, false) != run->fresh.end()) {
    body_ = webhook::body_with(body_, run->batch.items, keep);
    request_.body = body_;
  }
  const auto newest = std::ranges::max_element(run->fences, {}, &Fence::number);
  Outcome outcome = co_await attempt(&run->webhook->target, *newest);
  // Each event remembers that it is done; what the handler said of all of them is for this delivery only.
  if (outcome.verdict == Verdict::keep && !acknowledges(attempt_->answer().status())) {
    auto done = std::make_shared<Response>();
    done->status = attempt_->answer().status();
    outcome.response = std::move(done);
  }
  co_return outcome;
}

}  // namespace semel::gateway
