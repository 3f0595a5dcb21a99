// Claims inside claims: each event is held while the rest are claimed, and all end as the innermost action ends.
#include "gateway/joint_claim.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <boost/container/small_vector.hpp>

#include "core/check.h"
#include "policy/identify.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::gateway {
namespace {

Outcome nothing_sent() {
  return {.verdict = Verdict::release, .response = std::make_shared<Response>()};
}

class JointClaim {
 public:
  JointClaim(Once& once, std::span<const policy::Identity> events, const Policy& policy, JointAction action,
             Probe probe)
      : once_(once), events_(events), policy_(policy), action_(std::move(action)), probe_(std::move(probe)) {
    ours_.resize(events_.size(), false);
  }

  static Task<Outcome> claim_from(JointClaim* self, std::size_t at);
  JointAnswer answer(Outcome outcome) &&;

 private:
  static Task<Outcome> act(JointClaim* self);
  [[nodiscard]] SharedOrder order_of(const policy::Identity& identity) const;

  Once& once_;
  std::span<const policy::Identity> events_;
  const Policy& policy_;
  JointAction action_;
  Probe probe_;
  boost::container::small_vector<bool, 1> ours_;
  boost::container::small_vector<Fence, 1> fences_;
  bool acted_ = false;
  Time expires_at_{};
  std::optional<Refused> refused_;
  std::optional<Replayed> replayed_;
  std::size_t superseded_ = 0;
};

// Claims the events from `at` on; when there are no more of them, those that were free are acted on.
Task<Outcome> JointClaim::claim_from(JointClaim* self, std::size_t at) {
  for (; at < self->events_.size(); ++at) {
    const policy::Identity& event = self->events_[at];
    Action rest = [self, at](Fence fence) {
      self->ours_[at] = true;
      self->fences_.push_back(fence);
      const bool last = at + 1 == self->events_.size();
      return last ? act(self) : claim_from(self, at + 1);
    };
    Answer answer = co_await self->once_.run(event.key, event.fingerprint, self->policy_, std::move(rest),
                                             std::move(self->probe_), self->order_of(event));
    if (auto* ran = std::get_if<Ran>(&answer)) {
      self->expires_at_ = ran->expires_at;
      co_return std::move(ran->outcome);
    }
    if (auto* refused = std::get_if<Refused>(&answer)) {
      if (!self->refused_) self->refused_ = std::move(*refused);
      // Once the action was called, only it knows what became of the events.
      co_return self->acted_ ? Outcome{.verdict = Verdict::unknown, .response = std::make_shared<Response>()}
                             : nothing_sent();
    }
    if (auto* replayed = std::get_if<Replayed>(&answer)) self->replayed_ = std::move(*replayed);
    if (std::holds_alternative<Superseded>(answer)) ++self->superseded_;
  }
  if (self->fences_.empty()) co_return nothing_sent();
  co_return co_await act(self);
}

Task<Outcome> JointClaim::act(JointClaim* self) {
  core::check(!self->acted_, "the action of a joint claim runs at most once");
  core::check(!self->fences_.empty(), "an action runs under a claim");
  self->acted_ = true;
  const auto newest = std::ranges::max_element(self->fences_, {}, &Fence::number);
  const JointGrant grant{.ours = std::span<const bool>(self->ours_.data(), self->ours_.size()), .fence = *newest};
  return self->action_(grant);
}

// Events of one object that come together do not wait for each other.
SharedOrder JointClaim::order_of(const policy::Identity& identity) const {
  if (identity.order == nullptr || fences_.empty()) return identity.order;
  Order order = *identity.order;
  order.company = fences_.front().owner;
  return std::make_shared<const Order>(std::move(order));
}

JointAnswer JointClaim::answer(Outcome outcome) && {
  JointAnswer joint{.answer = Replayed{}, .superseded = superseded_};
  if (refused_) {
    joint.answer = *std::move(refused_);
  } else if (acted_) {
    joint.answer = Ran{.outcome = std::move(outcome), .fence = fences_.back(), .expires_at = expires_at_};
  } else if (replayed_) {
    joint.answer = *std::move(replayed_);
  } else if (superseded_ > 0) {
    joint.answer = Superseded{};
  }
  return joint;
}

}  // namespace

Task<JointAnswer> run_jointly(Once* once, std::span<const policy::Identity> events, const Policy* policy,
                              JointAction action, Probe probe) {
  JointClaim claim(*once, events, *policy, std::move(action), std::move(probe));
  Outcome outcome = co_await JointClaim::claim_from(&claim, 0);
  co_return std::move(claim).answer(std::move(outcome));
}

}  // namespace semel::gateway
