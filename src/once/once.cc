// once(): claim → decide → act → complete | release, and waiting, probing and renewing around it. This is the thin
// driver of decide(): every rule is in src/core/decision.cc, every wait and every call of the store is here.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include "core/decision.h"
#include "once/renewal.h"
#include "once/waiters.h"
#include "runtime/failpoint.h"
#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/endings.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel {
namespace {

namespace asio = boost::asio;

constexpr int claim_tries = 3;      // a repeated claim finds out what became of the first
constexpr int finish_tries = 5;     // an outcome is worth more patience than a claim
constexpr Millis finish_pause{50};  // doubled after each try
constexpr Millis finish_max{
    5'000};  // after which the caller is answered: a store that is silent takes long for each try
constexpr Millis later_pause_max{1'000};
constexpr std::uint64_t given_back_max = 16;  // attempts under one key; hardly any key has as many
constexpr std::uint64_t rounds_per_full = 8;  // see give_back_later()
constexpr int later_max = 10'000;  // keys that are settled later, at the same time: bounds memory in a long outage
constexpr Millis retry_after_usual{1'000};
constexpr Millis look_again{1'000};  // if the key may end in another process, whose notice may be lost
constexpr std::uint16_t status_bad_gateway = 502;
constexpr std::uint16_t status_no_content = 204;

// A bijection on 64 bits (splitmix64): turns a counter into owners that differ within a process and look random
// outside.
std::uint64_t scrambled(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31U);
}

// For the caller whose own attempt ended like this: bytes may have been sent, and their effect is not known.
Refused outcome_unknown(const Policy& policy, std::string detail) {
  Refused refused{
      .problem = Problem::of(ProblemType::outcome_unknown), .retry_after = Millis{0}, .detail = std::move(detail)};
  refused.problem.status = status_bad_gateway;
  if (policy.on_unknown != Policy::OnUnknown::hold) {
    refused.problem.retry = Problem::Retry::same_key;
    refused.retry_after = retry_after_usual;
  }
  return refused;
}

// For a later caller: it was another caller's attempt.
Refused still_unknown(const Policy& policy, std::string detail) {
  Refused refused = outcome_unknown(policy, std::move(detail));
  refused.problem.status = Problem::of(ProblemType::outcome_unknown).status;
  return refused;
}

Refused still_in_flight() {
  return {.problem = Problem::of(ProblemType::in_flight), .retry_after = retry_after_usual, .detail = {}};
}

SharedResponse no_content() {
  return std::make_shared<const Response>(
      Response{.status = status_no_content, .fields = {}, .body = {}, .body_kept = true});
}

Task<Outcome> guarded(Probe* probe) {
  try {
    co_return co_await (*probe)();
  } catch (...) {
    co_return Outcome::unknown();
  }
}

bool lost(const Result<Claim>& claimed) {
  return !claimed && claimed.error().code == Code::unavailable;
}

}  // namespace

class Once::Impl : public std::enable_shared_from_this<Once::Impl> {
 public:
  Impl(Store& store, Clock& clock, std::uint64_t seed, std::size_t waiters_max, Endings* endings)
      : store_(store), clock_(clock), endings_(endings), waiters_(clock, waiters_max), next_owner_(seed) {
    if (endings_ == nullptr) return;
    endings_->watch([this](const Digest& id) { waiters_.wake(Key{.id = id, .scope = {}, .space = {}}); });
  }

  Task<Answer> run(Key key, Fingerprint fingerprint, Policy policy, Action action, Probe probe, SharedOrder order);
  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms, Millis wait_max);
  void ended(const Key& key) { waiters_.wake(key); }
  void close() { closed_ = true; }

 private:
  Async<Claim> claim_again(Key key, Fingerprint fingerprint, Terms terms);
  bool late(Time asked_at, Millis lease) const { return clock_.now() - asked_at > lease / once::renewals_per_lease; }
  Task<bool> sleep(core::Wait wait, Key key, std::optional<Key>* other, once::Waiters::Place* place, Time give_up);
  Async<void> confirm(Key key, Fence fence, Millis lease);
  Task<Answer> perform(Key key, core::Run run, Policy policy, Action action);
  Task<Answer> adopt(Key key, core::Run run, Policy policy, Outcome found);
  Async<void> end(Key key, Fence fence, const Outcome& outcome);
  Async<void> finish(Key key, Fence fence, Outcome outcome, Millis lease);
  static Task<void> finish_later(std::shared_ptr<Impl> self, Key key, Fence fence, Outcome outcome, Time until);
  static Task<void> give_back_later(std::shared_ptr<Impl> self, Key key, std::uint64_t owner, Time until);
  template <class Errand>
  void settle_later(const Executor& executor, Errand errand);
  std::uint64_t owner() { return scrambled(next_owner_.fetch_add(0x9e3779b97f4a7c15ULL)); }

  Store& store_;
  Clock& clock_;
  Endings* const endings_;
  once::Waiters waiters_;
  std::atomic<std::uint64_t> next_owner_;
  std::atomic<int> later_{0};  // see settle_later()
  std::atomic<bool> closed_{false};
};

Task<Answer> Once::Impl::run(Key key, Fingerprint fingerprint, Policy policy, Action action, Probe probe,
                             SharedOrder order) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const Executor executor = co_await asio::this_coro::executor;
  // Of the first claim, not of the last: one whose answer was lost may be granted late, and then a later claim of this
  // same owner is told of that grant, with a lease that began long before it was asked for.
  const Time asked_at = clock_.now();
  const Time give_up = asked_at + policy.wait_max;
  Terms terms = core::terms_of(policy, owner(), std::move(order));
  std::optional<Key> other;  // of the same object, whose end is waited for
  bool waited = false;
  Outcome found;  // what a probe said about the attempt that `terms` may replace

  for (;;) {
    std::unique_ptr<once::Waiters::Place> place;
    if (policy.in_flight == Policy::InFlight::wait) place = waiters_.enter(other.value_or(key), executor);
    runtime::failpoint("claim-prepared");
    const Time looked_at = place == nullptr ? asked_at : clock_.now();
    Result<Claim> claimed = co_await store_.claim(key, fingerprint, terms);
    if (lost(claimed)) claimed = co_await claim_again(key, fingerprint, terms);
    if (lost(claimed)) {  // but one of the tries, also the last, may have been granted, and nothing will run under it
      const Time until = clock_.now() + policy.lease;
      settle_later(executor, [&](std::shared_ptr<Impl> self) {
        return give_back_later(std::move(self), key, terms.owner, until);
      });
    }
    if (!claimed) co_return core::refused_by(claimed.error());
    const core::Decision decision = core::decide(*claimed, fingerprint, policy);

    if (const auto* go = std::get_if<core::Run>(&decision)) {
      place.reset();
      if (found.verdict == Verdict::keep) co_return co_await adopt(std::move(key), *go, policy, std::move(found));
      if (late(asked_at, policy.lease)) {
        const Result<void> fresh = co_await confirm(key, go->fence, policy.lease);
        if (!fresh) co_return core::refused_by(fresh.error());
      }
      co_return co_await perform(std::move(key), *go, policy, std::move(action));
    }
    if (const auto* replay = std::get_if<core::Replay>(&decision)) {
      co_return Replayed{.response = replay->response,
                         .fence = replay->fence,
                         .expires_at = replay->expires_at,
                         .holds_until = looked_at + replay->left,
                         .waited = waited};
    }
    if (const auto* reject = std::get_if<core::Reject>(&decision)) {
      co_return Refused{
          .problem = reject->problem, .retry_after = reject->retry_after, .detail = {}, .holder = reject->holder};
    }
    if (std::holds_alternative<Superseded>(decision)) co_return Superseded{};
    if (const auto* wait = std::get_if<core::Wait>(&decision)) {
      if (!co_await sleep(*wait, key, &other, place.get(), give_up)) co_return still_in_flight();
      waited = true;
      continue;
    }
    if (!probe) co_return still_unknown(policy, "the policy says probe, but there is none");
    found = co_await guarded(&probe);
    if (found.verdict == Verdict::unknown) co_return still_unknown(policy, "the probe could not tell");
    terms.lapsed = Terms::Lapsed::taken_over;
    terms.only_over = std::get<core::Ask>(decision).fence;
  }
}

Async<Claim> Once::Impl::claim(Key key, Fingerprint fingerprint, Terms terms, Millis wait_max) {
  const Time give_up = clock_.now() + wait_max;
  const Policy policy{.in_flight = wait_max > Millis{0} ? Policy::InFlight::wait : Policy::InFlight::conflict};
  std::optional<Key> other;
  for (;;) {
    std::unique_ptr<once::Waiters::Place> place;
    if (policy.in_flight == Policy::InFlight::wait) {
      place = waiters_.enter(other.value_or(key), co_await asio::this_coro::executor);
    }
    Result<Claim> claimed = co_await store_.claim(key, fingerprint, terms);
    if (!claimed || place == nullptr) co_return claimed;
    const core::Decision decision = core::decide(*claimed, fingerprint, policy);
    const auto* const wait = std::get_if<core::Wait>(&decision);
    if (wait == nullptr || !co_await sleep(*wait, key, &other, place.get(), give_up)) co_return claimed;
  }
}

// Waits for the end of what holds the key. False: it is not worth waiting any longer.
Task<bool> Once::Impl::sleep(core::Wait wait, Key key, std::optional<Key>* other, once::Waiters::Place* place,
                             Time give_up) {
  Millis patience = std::min(give_up - clock_.now(), wait.lease_left);
  if (place == nullptr || patience <= Millis{0}) co_return false;
  const bool queued = wait.other == (*other ? std::optional((*other)->id) : std::nullopt);
  other->reset();
  if (wait.other) *other = Key{.id = *wait.other, .scope = {}, .space = {}, .home = key.home};
  if (!queued) co_return true;  // it may have ended before we were in its queue: look again
  if (endings_ != nullptr) {
    endings_->expect(other->value_or(key));
    patience = std::min(patience, look_again);
  }
  co_await place->pause()->wait(patience);
  co_return true;
}

// A claim whose answer was lost is repeated by the same owner: the store then tells how the first one ended.
Async<Claim> Once::Impl::claim_again(Key key, Fingerprint fingerprint, Terms terms) {
  for (int attempt = 2;; ++attempt) {
    Result<Claim> claimed = co_await store_.claim(key, fingerprint, terms);
    if (!lost(claimed) || attempt == claim_tries) co_return claimed;
  }
}

// A grant that arrived late (a slow disk, a stopped process), or that repeats one whose first answer was lost, may have
// lapsed by now, and another attempt may have begun. Nothing has been sent yet, so the lease is renewed first; if that
// fails, the claim is given up.
Async<void> Once::Impl::confirm(Key key, Fence fence, Millis lease) {
  Result<void> renewed;
  for (int attempt = 1;; ++attempt) {
    const Time asked_at = clock_.now();
    renewed = co_await store_.renew(key, fence, lease);
    if (!renewed) break;
    if (!late(asked_at, lease)) co_return renewed;
    if (attempt < claim_tries) continue;
    renewed = fail(Code::unavailable, "the store answers more slowly than the lease lasts");
    break;
  }
  const Outcome untouched{.verdict = Verdict::release, .response = nullptr};
  (void)co_await finish(std::move(key), fence, untouched, lease);
  co_return renewed;
}

Task<Answer> Once::Impl::perform(Key key, core::Run run, Policy policy, Action action) {
  const Executor executor = co_await asio::this_coro::executor;
  const once::Renewal renewal(store_, clock_, executor, key, run.fence, policy.lease);

  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(true);
  Outcome outcome;
  try {
    outcome = co_await action(run.fence);
  } catch (...) {
    outcome = Outcome::unknown();  // an exception may come after an effect, so it means as much as no answer
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());

  if (outcome.verdict == Verdict::keep && outcome.response == nullptr) outcome.response = no_content();
  runtime::failpoint("outcome-known");
  const Result<void> finished = co_await finish(key, run.fence, outcome, policy.lease);
  runtime::failpoint("outcome-kept");
  if (outcome.verdict == Verdict::keep && !finished) co_return outcome_unknown(policy, finished.error().detail);
  if (outcome.response == nullptr && outcome.verdict == Verdict::unknown) co_return outcome_unknown(policy, {});
  co_return Ran{.outcome = std::move(outcome), .fence = run.fence, .expires_at = run.expires_at};
}

// The probe found that the lost attempt took effect: its answer becomes the answer of the key.
Task<Answer> Once::Impl::adopt(Key key, core::Run run, Policy policy, Outcome found) {
  if (found.response == nullptr) found.response = no_content();
  const Result<void> finished = co_await finish(std::move(key), run.fence, found, policy.lease);
  if (!finished) co_return still_unknown(policy, finished.error().detail);
  co_return Replayed{.response = std::move(found.response), .fence = run.fence, .expires_at = run.expires_at};
}

Async<void> Once::Impl::end(Key key, Fence fence, const Outcome& outcome) {
  if (outcome.verdict == Verdict::release) return store_.release(std::move(key), fence);
  return store_.complete(std::move(key), fence, outcome.verdict == Verdict::keep ? outcome.response : nullptr);
}

Async<void> Once::Impl::finish(Key key, Fence fence, Outcome outcome, Millis lease) {
  Result<void> finished;
  Millis pause = finish_pause;
  const Time begun = clock_.now();
  for (int attempt = 1;; ++attempt) {
    finished = co_await end(key, fence, outcome);
    if (finished || finished.error().code == Code::fenced || attempt == finish_tries) break;
    if (clock_.now() - begun >= finish_max) break;
    co_await runtime::sleep(clock_, pause);
    pause *= 2;
  }
  waiters_.wake(key);
  if (!finished && finished.error().code == Code::unavailable) {
    const Executor executor = co_await asio::this_coro::executor;
    const Time until = clock_.now() + lease;
    settle_later(executor,
                 [&](std::shared_ptr<Impl> self) { return finish_later(std::move(self), key, fence, outcome, until); });
  }
  co_return finished;
}

// The caller has been answered, but the store does not know yet what this process knows. As long as the lease can be
// alive it is told again and again, or the key would be held until it expires.
template <class Errand>
void Once::Impl::settle_later(const Executor& executor, Errand errand) {
  if (closed_) return;
  if (later_.fetch_add(1) >= later_max) {
    later_.fetch_sub(1);
    return;
  }
  asio::co_spawn(executor, errand(shared_from_this()),
                 [self = shared_from_this()](const std::exception_ptr&) { self->later_.fetch_sub(1); });
}

Task<void> Once::Impl::finish_later(std::shared_ptr<Impl> self, Key key, Fence fence, Outcome outcome, Time until) {
  while (self->clock_.now() < until && !self->closed_) {
    const Result<void> finished = co_await self->end(key, fence, outcome);
    if (finished || finished.error().code != Code::unavailable) break;
    co_await runtime::sleep(self->clock_, later_pause_max);
  }
  self->waiters_.wake(key);
}

// Nothing was sent under this claim, if it was granted at all. Its number is not known, but its owner is random: only
// this very claim can be hit. To claim once more would be simpler, and would hold a key that may be free.
//
// That the store knows of no such claim does not say that there will be none: a commit that waits for a standby is seen
// by nobody until it is through, and a call may still be on its way. So the store is asked again. Most keys are at
// their first number, which is tried each time; the others now and then, or many such keys would be a load.
Task<void> Once::Impl::give_back_later(std::shared_ptr<Impl> self, Key key, std::uint64_t owner, Time until) {
  Millis pause = finish_pause;
  std::uint64_t round = 0;
  std::uint64_t number = 1;
  while (self->clock_.now() < until && !self->closed_) {
    const Fence fence{.number = number, .owner = owner};
    const Result<void> released = co_await self->store_.release(key, fence);
    if (released) break;
    const std::uint64_t last = round % rounds_per_full == 0 ? given_back_max : 1;
    const bool heard = released.error().code != Code::unavailable;
    if (heard && number < last) {
      ++number;
      continue;
    }
    if (heard) {
      number = 1;
      ++round;
    }
    co_await runtime::sleep(self->clock_, pause);
    pause = std::min(pause * 2, later_pause_max);
  }
  self->waiters_.wake(key);
}

Once::Once(Store& store, Clock& clock, std::uint64_t seed, std::size_t waiters_max, Endings* endings)
    : impl_(std::make_shared<Impl>(store, clock, seed, waiters_max, endings)) {}

Once::~Once() {
  close();
}

void Once::close() {
  impl_->close();
}

Task<Answer> Once::run(Key key, Fingerprint fingerprint, Policy policy, Action action, Probe probe, SharedOrder order) {
  return impl_->run(std::move(key), fingerprint, policy, std::move(action), std::move(probe), std::move(order));
}

Async<Claim> Once::claim(Key key, Fingerprint fingerprint, Terms terms, Millis wait_max) {
  return impl_->claim(std::move(key), fingerprint, std::move(terms), wait_max);
}

void Once::ended(const Key& key) {
  impl_->ended(key);
}

}  // namespace semel
