// Programs that hold claims by hand, as the claims API lets them: they renew, end, and call again when they should not.
//
// A program never lies about its own effect (it does not release what it has done), but it repeats itself and uses
// fences that are over; the store must not mind.
#include <memory>
#include <utility>
#include <variant>

#include "core/decision.h"
#include "runtime/pause.h"
#include "sim/clients.h"

namespace semel::sim {
namespace {

constexpr Millis stray_pause_max{200};
constexpr Millis stray_lease{100};

}  // namespace

void Clients::begin_hold(int key) {
  Process* process = choose_();
  if (process != nullptr) process->start(hold(process, key));
}

Task<void> Clients::hold(Process* process, int key) {
  const Plan plan = world_.plan(key);
  Port& port = process->port();
  const Time asked_at = world_.now();
  const Terms terms = core::terms_of(plan.policy, world_.random.next(), plan.order);
  const Result<Claim> claim = co_await port.claim(plan.key, plan.right, terms);
  const auto* granted = claim ? std::get_if<Granted>(&*claim) : nullptr;
  const bool late = world_.now() - asked_at > plan.policy.lease / 3;  // a careful program does not act on such a grant
  if (process->dead() || granted == nullptr || late) co_return;
  const Fence fence = granted->fence;

  const std::shared_ptr<Attempt> attempt = oracle_.started(key, fence, plan.right, process->id);
  for (int renewals = world_.random.between(0, 3); renewals > 0; --renewals) {
    co_await runtime::sleep(process->clock(), world_.random.up_to(plan.policy.lease / 2));
    (void)co_await port.renew(plan.key, fence, plan.policy.lease);
  }
  co_await runtime::sleep(process->clock(), world_.random.up_to(plan.policy.lease / 2));
  attempt->ended = true;  // as far as its lease is concerned: a program that renews by hand may lose it
  SharedResponse response;
  Result<void> ended = fail(Code::unavailable, "never asked for");
  const int end = process->dead() ? 3 : world_.random.between(0, 3);
  if (end == 0) {
    response = upstream_.act(*attempt);
    if (response != nullptr) ended = co_await port.complete(plan.key, fence, response);
  } else if (end == 1) {
    if (world_.random.chance(5'000)) response = upstream_.act(*attempt);
    ended = co_await port.complete(plan.key, fence, nullptr);
  } else if (end == 2) {
    ended = co_await port.release(plan.key, fence);
  }
  if (!process->dead()) world_.note(key, process->id, ended ? "holder ends" : "holder is refused", fence);
  // What took effect is released only when the claim is over: then the store must refuse it.
  const bool over = ended || ended.error().code == Code::fenced;
  co_await stray(process, attempt, plan.key, response, over || attempt->nonce == 0);
}

// Calls that come after the end, in any order.
Task<void> Clients::stray(Process* process, std::shared_ptr<Attempt> attempt, Key key, SharedResponse response,
                          bool releases) {
  const Fence fence = attempt->fence;
  Port& port = process->port();
  for (int calls = world_.random.between(0, 4); calls > 0 && !process->dead(); --calls) {
    co_await runtime::sleep(process->clock(), world_.random.up_to(stray_pause_max));
    switch (world_.random.between(0, 3)) {
      case 0:
        (void)co_await port.renew(key, fence, stray_lease);
        break;
      case 1:
        if (releases) (void)co_await port.release(key, fence);
        break;
      case 2:
        (void)co_await port.complete(key, fence, nullptr);
        break;
      default:
        if (response != nullptr) (void)co_await port.complete(key, fence, response);
    }
  }
}

Task<void> Clients::sweep(Process* process, std::size_t limit) {
  (void)co_await process->port().sweep(limit);
}

void Clients::sweep_all() {
  Process* process = choose_();
  if (process != nullptr) process->start(sweep(process, 1'000));
}

}  // namespace semel::sim
