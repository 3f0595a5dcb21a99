// The judgement of an answer, without I/O: who hears what, now and later.
#include "gateway/tell.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "core/check.h"
#include "core/shape.h"
#include "gateway/attempt.h"
#include "gateway/delivery.h"
#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/joint_claim.h"
#include "gateway/replay_cache.h"
#include "gateway/told.h"
#include "http/call.h"
#include "policy/reply.h"
#include "telemetry/cause.h"
#include "telemetry/metrics.h"
#include "telemetry/webhook_metrics.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::gateway {
namespace {

using telemetry::Ending;

constexpr Millis no_wait{0};

Ending ending_of(Verdict verdict) {
  if (verdict == Verdict::keep) return Ending::ran;
  return verdict == Verdict::release ? Ending::released : Ending::unknown;
}

// Of a batch of which all or some were overtaken. The delivery itself counts as one when it has been told.
void count_superseded(const Incoming& incoming, const Job& job, std::size_t superseded) {
  if (!job.batch || superseded == 0) return;
  const std::size_t beside = superseded == job.events().size() ? superseded - 1 : superseded;
  auto& counters = incoming.plan.counters_of(*job.webhook);
  counters.by_end.at(static_cast<std::size_t>(telemetry::EventEnd::out_of_order)).fetch_add(beside);
}

void add_marks(Told& told, const Ran& ran) {
  told.fence = ran.fence.number;
  if (ran.outcome.verdict != Verdict::keep) return;
  if (auto* upstreams = std::get_if<UpstreamReply>(&told.reply)) upstreams->expires_at = ran.expires_at;
  if (auto* own = std::get_if<OwnReply>(&told.reply)) {
    own->response.fields.push_back(policy::expires_mark(ran.expires_at));
  }
}

Told told_again(const Incoming& incoming, const Job& job, const Replayed& replayed) {
  if (job.batch) {
    Told told{.ending = Ending::replayed};
    Response reply = acknowledgement(job.webhook);
    reply.fields.push_back({.name = incoming.config().reply.replayed_header, .value = "true"});
    told.reply = OwnReply{.response = std::move(reply)};
    return told;
  }
  Told told = told_replay(incoming, replayed.response, replayed.fence, replayed.expires_at);
  told.waited = replayed.waited;
  if (told.ending == Ending::replayed) {
    incoming.services.replays.put(job.identity.key, job.identity.fingerprint, replayed, incoming.started);
  }
  return told;
}

}  // namespace

Told told_replay(const Incoming& incoming, const SharedResponse& response, Fence fence, Time expires_at) {
  Result<Response> marks = policy::replay_marks(*response, expires_at, incoming.config().reply);
  if (!marks) return told_refusal(Problem::of(ProblemType::record_corrupt), no_wait, incoming.config().reply);
  Told told{.ending = Ending::replayed, .fence = fence.number};
  told.reply = OwnReply{.response = *std::move(marks), .stored = response};
  return told;
}

std::string_view what_differs(const Incoming& incoming, const Job& job, const Fingerprint& holder) {
  if (job.batch) return {};
  return core::differing(incoming.services.shapes.find(holder), job.identity.shape);
}

std::optional<Told> replay_hot(const Incoming& incoming, const Job& job) {
  if (job.batch) return std::nullopt;
  const ReplayCache::Entry* const hot = incoming.services.replays.find(job.identity.key);
  if (hot == nullptr) return std::nullopt;
  if (hot->fingerprint == job.identity.fingerprint) {
    return told_replay(incoming, hot->response, hot->fence, hot->expires_at);
  }
  Told told = told_refusal(Problem::of(ProblemType::key_reused), no_wait, incoming.config().reply);
  told.differs = what_differs(incoming, job, hot->fingerprint);
  return told;
}

Told told_first(const Incoming& incoming, const Job& job, std::unique_ptr<Attempt> attempt, Outcome& outcome) {
  if (attempt->end() != http::CallEnd::answered) {
    Told told = told_unreached(attempt->end(), &job.target->policy, Ending::unknown, incoming.config().reply);
    told.cause = attempt->cause();
    if (attempt->end() == http::CallEnd::not_reached) told.detail = incoming.upstream(job.target->upstream).trouble();
    return told;
  }
  const bool kept = outcome.verdict == Verdict::keep;
  Told told{.ending = ending_of(outcome.verdict), .bad_outcome_field = attempt->bad_outcome_field()};
  if (outcome.verdict == Verdict::unknown) told.cause = telemetry::Cause::answer;
  const std::uint16_t status = attempt->answer().status();
  told.upstream_status = status;
  if (kept && acknowledges(job.webhook, status)) {
    outcome.response = std::make_shared<const Response>(acknowledgement(job.webhook));
    told.reply = OwnReply{.response = *outcome.response};
    return told;
  }
  if (kept && job.batch) {
    // Each event remembers that it is done; what the handler said of all of them is for this delivery only.
    outcome.response = std::make_shared<const Response>(Response{.status = status, .fields = {}, .body = {}});
  }
  told.reply = UpstreamReply{.attempt = std::move(attempt), .expires_at = {}};
  return told;
}

Told tell(const Incoming& incoming, const Job& job, JointAnswer& joint, std::optional<Told>& first) {
  count_superseded(incoming, job, joint.superseded);
  if (const auto* ran = std::get_if<Ran>(&joint.answer)) {
    Told& told = core::present(first, "an action that ran has left what its caller is told");
    add_marks(told, *ran);
    return std::move(told);
  }
  if (const auto* replayed = std::get_if<Replayed>(&joint.answer)) return told_again(incoming, job, *replayed);
  if (std::holds_alternative<Superseded>(joint.answer)) {
    // A newer event of its object has overtaken it: its sender must not send it again.
    Told told{.ending = Ending::superseded};
    told.reply = OwnReply{.response = acknowledgement(job.webhook)};
    return told;
  }
  auto& refused = std::get<Refused>(joint.answer);
  Told told =
      told_refusal(refused.problem, refused.retry_after, incoming.config().reply, {}, std::move(refused.detail));
  if (refused.holder) told.differs = what_differs(incoming, job, *refused.holder);
  if (first) {  // it ran, but its outcome could not be kept
    told.ending = Ending::unknown;
    told.cause = telemetry::Cause::store;
    told.upstream_time = first->upstream_time;
    told.upstream = first->upstream;
    told.fence = first->fence;
    told.upstream_status = first->upstream_status;
  }
  return told;
}

}  // namespace semel::gateway
