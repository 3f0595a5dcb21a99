// Visits from beginning to end: who comes, how an action plays its script, what a probe asks. Programs that hold claims
// by hand are in holders.cc.
#include "sim/clients.h"

#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime/pause.h"

namespace semel::sim {
namespace {

constexpr Millis think_max{40};
constexpr Millis backoff_max{300};
constexpr Millis probe_max{30};
constexpr Millis moment{1};
constexpr int tries_max = 6;

}  // namespace

// ---- coming and going -----------------------------------------------------------------------------------------------

Clients::Clients(World& world, Oracle& oracle, Upstream& upstream, std::function<Process*()> choose)
    : world_(world),
      oracle_(oracle),
      upstream_(upstream),
      choose_(std::move(choose)),
      visits_left_(world.setup.visits) {}

void Clients::come() {
  world_.after(world_.random.up_to(think_max), [this] { arrive(); });
}

void Clients::arrive() {
  if (visits_left_ == 0) return;
  const int key = world_.random.between(0, static_cast<int>(world_.setup.plans.size()) - 1);
  const Plan& plan = world_.plan(key);
  if (world_.random.chance(1'500)) begin_hold(key);
  if (world_.random.chance(1'500)) {
    Process* process = choose_();
    if (process != nullptr) process->start(sweep(process, world_.random.below(8)));
  }
  for (int burst = world_.random.between(1, 4); burst > 0 && visits_left_ > 0; --burst) {
    --visits_left_;
    const bool wrong = world_.random.chance(1'200);
    begin(key, wrong ? plan.wrong : plan.right, tries_max, false);
  }
  come();
}

void Clients::come_last() {
  for (std::size_t key = 0; key < world_.setup.plans.size(); ++key) {
    begin(static_cast<int>(key), world_.setup.plans[key].right, 0, true);
  }
}

void Clients::begin(int key, Fingerprint fingerprint, int tries, bool final_round) {
  ++pending_;
  Process* process = choose_();
  if (process == nullptr) {  // nobody accepts connections
    world_.after(world_.random.millis(Millis{1}, backoff_max), [this, key, fingerprint, tries, final_round] {
      --pending_;
      begin(key, fingerprint, tries, final_round);
    });
    return;
  }
  ++world_.stats.visits;
  auto visit = std::make_shared<Visit>(Visit{.id = next_visit_++,
                                             .key = key,
                                             .fingerprint = fingerprint,
                                             .process = process->id,
                                             .started_at = world_.now(),
                                             .tries_left = tries,
                                             .final_round = final_round});
  open_.emplace(visit->id, visit);
  world_.note(key, process->id, fingerprint == world_.plan(key).right ? "visit" : "visit, other request", {},
              visit->id);
  process->start(this->visit(process, visit));
}

void Clients::retry(const Visit& visit, Millis pause) {
  if (visit.tries_left == 0) return;
  ++pending_;
  world_.after(pause, [this, key = visit.key, fingerprint = visit.fingerprint, tries = visit.tries_left - 1] {
    --pending_;
    begin(key, fingerprint, tries, false);
  });
}

void Clients::lost(std::uint64_t process) {
  for (auto it = open_.begin(); it != open_.end();) {
    const std::shared_ptr<Visit> visit = it->second;
    if (visit->process != process) {
      ++it;
      continue;
    }
    it = open_.erase(it);
    oracle_.lost(*visit);
    retry(*visit, world_.random.millis(Millis{1}, backoff_max));
    --pending_;
  }
}

// ---- one visit ------------------------------------------------------------------------------------------------------

Task<void> Clients::visit(Process* process, std::shared_ptr<Visit> visit) {
  const Plan& plan = world_.plan(visit->key);
  process->port().visited_by(visit);
  Action action = [this, process, visit](Fence fence) { return act(process, visit, fence); };
  Probe probe = [this, process, key = visit->key] { return ask(process, key); };
  const Answer answer = co_await process->once().run(plan.key, visit->fingerprint, plan.policy, std::move(action),
                                                     std::move(probe), plan.order);
  if (process->dead()) co_return;
  open_.erase(visit->id);
  oracle_.told(*visit, answer);
  const auto* refused = std::get_if<Refused>(&answer);
  if (refused != nullptr && refused->problem.retry == Problem::Retry::same_key) {
    retry(*visit, world_.random.millis(Millis{1}, backoff_max));
  } else if (world_.random.chance(2'000)) {  // the answer did not arrive
    retry(*visit, world_.random.millis(Millis{1}, backoff_max));
  }
  --pending_;
}

struct Clients::Script {
  enum class End : std::uint8_t { keep, refuse, release, unknown, throws } end = End::keep;
  bool acts = true;        // it has its effect before it ends
  bool acts_late = false;  // or some time afterwards
  bool cut_off = false;    // its process ends when the effect is to happen, just before or just after it
  bool answers = false;    // an unknown outcome comes with an answer for this caller
  Millis before{0};
  Millis behind{0};
};

Clients::Script Clients::draw_script(int key, bool final_round) {
  Script script;
  if (final_round) return script;
  using enum Script::End;
  constexpr Script::End ends[] = {keep,   keep,    keep,    keep,    keep,    keep,
                                  refuse, release, release, unknown, unknown, throws};
  script.end = world_.random.pick(ends);
  const bool open_end = script.end == unknown || script.end == throws;
  script.acts = script.end == keep || (open_end && world_.random.chance(5'000));
  script.acts_late = open_end && !script.acts && world_.random.chance(5'000);
  script.answers = world_.random.chance(5'000);
  script.cut_off = script.end != release && script.end != refuse && world_.strikes(world_.setup.faults.cut_off);
  const Millis lease = world_.plan(key).policy.lease;
  if (world_.random.chance(6'000)) script.before = world_.random.up_to(lease / 2);
  if (world_.random.chance(2'000)) script.before = world_.random.up_to(4 * lease);
  if (world_.random.chance(2'000)) script.behind = world_.random.up_to(3 * lease);
  return script;
}

Task<Outcome> Clients::act(Process* process, std::shared_ptr<Visit> visit, Fence fence) {
  if (process->dead()) throw std::runtime_error("the process has ended");
  visit->attempt = oracle_.started(visit->key, fence, visit->fingerprint, process->id);
  const Script script = draw_script(visit->key, visit->final_round);
  const std::shared_ptr<Attempt> attempt = visit->attempt;
  Outcome outcome = co_await play(process, attempt, script);
  attempt->ended = true;
  if (!process->dead()) world_.note(visit->key, process->id, "attempt ends", fence);
  if (script.end == Script::End::throws) throw std::runtime_error("the action failed");
  co_return outcome;
}

Task<Outcome> Clients::play(Process* process, std::shared_ptr<Attempt> attempt, Script script) {
  const Outcome cut_off{.verdict = Verdict::unknown, .response = nullptr};
  co_await runtime::sleep(process->clock(), script.before);
  if (process->dead()) co_return cut_off;
  if (script.cut_off) {
    doomed_ = process->id;
    if (script.acts && world_.random.chance(5'000)) (void)upstream_.act(*attempt);
    co_await runtime::sleep(process->clock(), moment);
    co_return cut_off;
  }
  SharedResponse response;
  if (script.acts) {
    response = upstream_.act(*attempt);
    if (response == nullptr) co_return Outcome{.verdict = Verdict::release, .response = nullptr};
  }
  if (script.acts_late) {
    world_.after(world_.random.millis(Millis{1}, 4 * world_.plan(attempt->key).policy.lease),
                 [this, attempt] { (void)upstream_.act(*attempt); });
  }
  co_await runtime::sleep(process->clock(), script.behind);
  switch (script.end) {
    case Script::End::keep:
      co_return Outcome{.verdict = Verdict::keep, .response = response};
    case Script::End::refuse:
      co_return Outcome{.verdict = Verdict::keep, .response = upstream_.refuse(attempt->key)};
    case Script::End::release:
      co_return Outcome{.verdict = Verdict::release, .response = upstream_.refuse(attempt->key)};
    default:
      co_return Outcome{.verdict = Verdict::unknown, .response = script.answers ? response : nullptr};
  }
}

Task<Outcome> Clients::ask(Process* process, int key) {
  co_await runtime::sleep(process->clock(), world_.random.up_to(probe_max));
  if (process->dead() || world_.strikes(300)) throw std::runtime_error("the probe failed");
  co_return upstream_.probe(key);
}

}  // namespace semel::sim
