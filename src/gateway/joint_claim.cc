// Every event is claimed by a once() of its own. Its action waits until it is known of all events whether they can be
// had; then the real action runs for all of them, or all are given back.
#include "gateway/joint_claim.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/container/small_vector.hpp>

#include "core/check.h"
#include "policy/identify.h"
#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::gateway {
namespace {

namespace asio = boost::asio;

constexpr Millis a_day{86'400'000};  // every wait here ends with a call of once(), which has limits of its own

Outcome nothing_sent() {
  return {.verdict = Verdict::release, .response = std::make_shared<Response>()};
}

// One event. Its once() has come to the action, where it waits, or has ended.
struct Candidate {
  const policy::Identity* identity;
  std::shared_ptr<runtime::Pause> held{};  // rung when the action may end
  std::optional<Fence> fence{};            // set when the action has begun
  std::optional<Answer> answer{};

  [[nodiscard]] bool settled() const { return fence || answer; }
  [[nodiscard]] bool refused() const { return answer && std::holds_alternative<Refused>(*answer); }
};

// What the claims of one delivery share. All of it is used on one executor.
class ClaimCompany {
 public:
  ClaimCompany(Once& once, Clock& clock, const Policy& policy, std::uint64_t number, Executor executor)
      : once_(once), clock_(clock), policy_(policy), number_(number), executor_(std::move(executor)) {}

  // Claims these, all at the same time, and returns when it is known of each whether it can be had.
  static Task<void> claim(ClaimCompany* self, std::span<Candidate> candidates, Policy::InFlight in_flight) {
    for (Candidate& candidate : candidates) self->start(candidate, in_flight);
    while (!std::ranges::all_of(candidates, &Candidate::settled)) co_await self->change();
  }

  // Ends the actions that wait with `outcome`, and returns when every once() has ended.
  static Task<void> end(ClaimCompany* self, std::span<Candidate> candidates, Outcome outcome) {
    self->outcome_ = std::move(outcome);
    for (Candidate& candidate : candidates) {
      if (candidate.held != nullptr) candidate.held->ring();
    }
    const auto ended = [](const Candidate& candidate) { return !candidate.fence || candidate.answer; };
    while (!std::ranges::all_of(candidates, ended)) co_await self->change();
  }

 private:
  void start(Candidate& candidate, Policy::InFlight in_flight) {
    Policy policy = policy_;
    policy.in_flight = in_flight;
    Action wait = [this, &candidate](Fence fence) { return hold(this, &candidate, fence); };
    auto ended = [this, &candidate](const std::exception_ptr& error, Answer answer) {
      core::check(error == nullptr, "once() does not throw");
      candidate.answer = std::move(answer);
      if (changed_ != nullptr) changed_->ring();
    };
    const policy::Identity& event = *candidate.identity;
    asio::co_spawn(executor_, once_.run(event.key, event.fingerprint, policy, std::move(wait), {}, order_of(event)),
                   std::move(ended));
  }

  static Task<Outcome> hold(ClaimCompany* self, Candidate* candidate, Fence fence) {
    candidate->held = std::make_shared<runtime::Pause>(self->clock_);
    candidate->fence = fence;
    if (self->changed_ != nullptr) self->changed_->ring();
    co_await candidate->held->wait(a_day);
    co_return self->outcome_;
  }

  // Until something has changed since the last look.
  Task<void> change() {
    changed_ = std::make_shared<runtime::Pause>(clock_);
    co_await changed_->wait(a_day);
  }

  // Events of one object that come together do not wait for each other.
  [[nodiscard]] SharedOrder order_of(const policy::Identity& identity) const {
    if (identity.order == nullptr) return nullptr;
    Order order = *identity.order;
    order.company = number_;
    return std::make_shared<const Order>(std::move(order));
  }

  Once& once_;
  Clock& clock_;
  const Policy& policy_;
  const std::uint64_t number_;
  Executor executor_;
  Outcome outcome_;
  std::shared_ptr<runtime::Pause> changed_;
};

using Candidates = boost::container::small_vector<Candidate, 1>;

// One by one, in the order of the keys; ends at the first that cannot be had.
Task<void> claim_in_order(ClaimCompany* company, std::span<Candidate> candidates, Policy::InFlight in_flight) {
  for (Candidate& candidate : candidates) {
    co_await ClaimCompany::claim(company, std::span(&candidate, 1), in_flight);
    if (candidate.refused()) co_return;
  }
}

bool taken(const Candidate& candidate) {
  const auto* const refused = candidate.answer ? std::get_if<Refused>(&*candidate.answer) : nullptr;
  return refused != nullptr && refused->problem.type == ProblemType::in_flight;
}

Task<void> claim_all(ClaimCompany* company, std::span<Candidate> candidates, Policy::InFlight in_flight) {
  co_await ClaimCompany::claim(company, candidates.first(1), in_flight);
  if (candidates.front().refused()) co_return;
  // Nobody waits here: it would be with claims in the hand that somebody else may wait for.
  co_await ClaimCompany::claim(company, candidates.subspan(1), Policy::InFlight::conflict);
  if (!std::ranges::any_of(candidates, taken)) co_return;
  co_await ClaimCompany::end(company, candidates, nothing_sent());
  for (Candidate& candidate : candidates) candidate = {.identity = candidate.identity};
  co_await claim_in_order(company, candidates, in_flight);
}

// The answer for all of them when each has one. `acted`: the action ran for those that were granted.
JointAnswer summary(std::span<Candidate> candidates, bool acted) {
  JointAnswer joint{.answer = Replayed{}};
  std::optional<Ran> newest;
  for (Candidate& candidate : candidates) {
    if (candidate.answer && std::holds_alternative<Superseded>(*candidate.answer)) ++joint.superseded;
  }
  if (joint.superseded > 0) joint.answer = Superseded{};
  for (Candidate& candidate : candidates) {
    if (!candidate.answer) continue;
    if (candidate.refused()) {
      joint.answer = *std::move(candidate.answer);
      return joint;
    }
    auto* const ran = std::get_if<Ran>(&*candidate.answer);
    if (ran != nullptr && acted && (!newest || newest->fence.number <= ran->fence.number)) newest = std::move(*ran);
    if (std::holds_alternative<Replayed>(*candidate.answer)) joint.answer = *std::move(candidate.answer);
  }
  if (newest) joint.answer = *std::move(newest);
  return joint;
}

}  // namespace

Task<JointAnswer> run_jointly(Once* once, Clock* clock, std::span<const policy::Identity> events, const Policy* policy,
                              std::uint64_t company, JointAction action) {
  core::check(company != 0, "a delivery of several events has a number");
  if (events.empty()) co_return JointAnswer{.answer = Replayed{}};
  ClaimCompany together(*once, *clock, *policy, company, co_await asio::this_coro::executor);
  Candidates candidates;
  for (const policy::Identity& event : events) candidates.push_back({.identity = &event});
  co_await claim_all(&together, candidates, policy->in_flight);

  boost::container::small_vector<bool, 16> ours;
  boost::container::small_vector<EventShare, 16> shares;
  Fence newest;
  for (const Candidate& candidate : candidates) {
    const std::optional<Fence>& fence = candidate.fence;
    ours.push_back(fence.has_value());
    const bool superseded = candidate.answer && std::holds_alternative<Superseded>(*candidate.answer);
    shares.push_back({.fence = fence ? fence->number : 0, .superseded = superseded});
    if (fence && fence->number >= newest.number) newest = *fence;
  }
  const bool acts = !std::ranges::any_of(candidates, &Candidate::refused) && newest.number > 0;
  Outcome outcome = nothing_sent();
  const JointGrant grant{.ours = {ours.data(), ours.size()}, .fence = newest, .shares = {shares.data(), shares.size()}};
  if (acts) outcome = co_await action(grant);
  co_await ClaimCompany::end(&together, candidates, std::move(outcome));
  co_return summary(candidates, acts);
}

}  // namespace semel::gateway
