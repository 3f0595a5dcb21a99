// The oracle's eye on attempts, effects and answers.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "sim/ledger.h"
#include "sim/oracle.h"

namespace semel::sim {

Oracle::Oracle(World& world, const SimLedger& ledger)
    : world_(world), ledger_(ledger), keepers_(world.setup.plans.size()) {}

void Oracle::expect(bool holds, int key, const char* promise) {
  if (holds || broken()) return;
  verdict_ = std::string(promise) + "\n" + world_.story(key, 40);
}

// ---- attempts -------------------------------------------------------------------------------------------------------

std::shared_ptr<Attempt> Oracle::started(int key, Fence fence, const Fingerprint& fingerprint, std::uint64_t process) {
  world_.note(key, process, "attempt starts", fence);
  ++world_.stats.attempts;
  Keeper& kept = keeper(key);
  const Record* record = ledger_.durable(world_.plan(key).key.id);
  const bool durable = record != nullptr && record->fence == fence && record->state == Record::State::running;
  expect(durable, key, "G2: an attempt starts only when its claim is durable and still stands");
  expect(!durable || world_.now() < record->lease_until, key, "G1: an attempt starts only while its lease is alive");
  expect(!durable || record->fingerprint == fingerprint, key, "G4: only the request that claimed the key runs");

  expect(!kept.lives.empty(), key, "an attempt belongs to a life");
  if (kept.lives.empty()) kept.lives.emplace_back();
  Life& life = kept.lives.back();
  expect(life.done == nullptr, key, "G1: no attempt starts on a completed key");
  for (const auto& earlier : life.attempts) {
    expect(earlier->fence.number < fence.number, key, "G6: each attempt of a life has a higher fence than the last");
  }
  auto attempt = std::make_shared<Attempt>(Attempt{
      .key = key, .life = kept.lives.size() - 1, .fence = fence, .process = process, .started_at = world_.now()});
  life.attempts.push_back(attempt);
  running_.emplace(++attempts_, attempt);
  return attempt;
}

void Oracle::effect(Attempt& attempt, std::uint64_t nonce) {
  world_.note(attempt.key, attempt.process, "effect", attempt.fence, nonce);
  ++world_.stats.effects;
  expect(attempt.nonce == 0, attempt.key, "an attempt has one effect");
  attempt.nonce = nonce;
  if (world_.plan(attempt.key).policy.on_unknown == Policy::OnUnknown::retry) return;
  for (const auto& other : keeper(attempt.key).lives[attempt.life].attempts) {
    expect(other.get() == &attempt || other->nonce == 0, attempt.key, "G5: under hold and probe a life has one effect");
  }
}

std::uint64_t Oracle::probed(int key) {
  ++world_.stats.probes;
  Keeper& kept = keeper(key);
  if (kept.lives.empty()) return 0;
  for (const auto& attempt : kept.lives.back().attempts) {
    if (attempt->nonce != 0) return attempt->nonce;
  }
  for (const auto& attempt : kept.lives.back().attempts) attempt->sealed = true;
  return 0;
}

void Oracle::gone(std::uint64_t process) {
  for (auto& [number, attempt] : running_) {
    if (attempt->process == process) attempt->ended = true;
  }
}

// ---- callers --------------------------------------------------------------------------------------------------------

void Oracle::asks(std::uint64_t owner, const std::shared_ptr<Visit>& visit) {
  const auto found = owners_.find(owner);
  if (found != owners_.end()) {
    const auto known = found->second.lock();
    if (known == nullptr) return;
    known->waiting = false;
    woken_.erase(known->id);
  } else if (visit != nullptr) {
    owners_.emplace(owner, visit);
    visits_.emplace(visit->id, visit);
  }
}

void Oracle::hears(std::uint64_t owner, const Result<Claim>& claim) {
  const auto found = owners_.find(owner);
  const auto visit = found == owners_.end() ? nullptr : found->second.lock();
  if (visit == nullptr || !visit->open || !claim) return;
  const auto* held = std::get_if<Held>(&*claim);
  visit->waiting = held != nullptr && held->record.state == Record::State::running &&
                   held->record.fingerprint == visit->fingerprint &&
                   world_.plan(visit->key).policy.in_flight == Policy::InFlight::wait;
}

void Oracle::lost(Visit& visit) {
  visit.open = false;
  visits_.erase(visit.id);
}

void Oracle::told(Visit& visit, const Answer& answer) {
  lost(visit);
  bool finished = visit.attempt != nullptr;
  if (const auto* ran = std::get_if<Ran>(&answer)) {
    world_.note(visit.key, visit.process, "told: ran", ran->fence, visit.id);
    ++world_.stats.ran;
    expect(visit.attempt != nullptr && visit.attempt->fence == ran->fence, visit.key, "who is told so did run");
    if (ran->outcome.verdict == Verdict::keep) kept(visit, *ran->outcome.response, life_with(visit.key, ran->fence));
  } else if (const auto* replayed = std::get_if<Replayed>(&answer)) {
    world_.note(visit.key, visit.process, "told: replay", replayed->fence, visit.id);
    ++world_.stats.replays;
    const Life* life = life_with(visit.key, replayed->fence);
    kept(visit, *replayed->response, life);
    expect(life != nullptr && life->fingerprint == visit.fingerprint, visit.key, "G4: another request gets no replay");
    const auto owner = owners_.find(replayed->fence.owner);  // it is his own claim: he adopted what a probe found
    finished = owner != owners_.end() && owner->second.lock().get() == &visit;
  } else if (std::holds_alternative<Superseded>(answer)) {
    overtaken(visit);
  } else {
    refused(visit, std::get<Refused>(answer));
  }
  if (!finished) return;
  for (const auto& [id, other] : visits_) {
    if (other->key == visit.key && other->process == visit.process && other->waiting)
      woken_.emplace(id, other->process);
  }
}

void Oracle::kept(const Visit& visit, const Response& response, const Life* life) {
  expect(life != nullptr && life->done != nullptr, visit.key, "G2: an answer is told only when it is durable");
  expect(life == nullptr || life->done == nullptr || *life->done == response, visit.key,
         "G3: every answer of one life is the same");
  const auto owner = nonces_.find(std::stoull("0" + response.body));
  expect(owner != nonces_.end() && owner->second == visit.key, visit.key, "G9: no answer is told under another key");
}

void Oracle::overtaken(const Visit& visit) {
  world_.note(visit.key, visit.process, "told: superseded", {}, visit.id);
  ++world_.stats.superseded;
  const auto newer_done = [&](int other) {
    return world_.plan(visit.key).order->stamp < world_.plan(other).order->stamp &&
           std::ranges::any_of(keeper(other).lives, [](const Life& life) { return life.done != nullptr; });
  };
  expect(std::ranges::any_of(world_.siblings(visit.key), newer_done), visit.key,
         "order: an event is superseded only by a newer one that has completed");
}

// Whether another event of the object was alive since then.
bool Oracle::sibling_ran(int key, Time since) {
  return std::ranges::any_of(world_.siblings(key), [&](int other) {
    const Plan& plan = world_.plan(other);
    return was(&Keeper::running_until, other, plan.right, since) ||
           was(&Keeper::running_until, other, plan.wrong, since);
  });
}

void Oracle::refused(const Visit& visit, const Refused& refused) {
  const int key = visit.key;
  const Time since = visit.started_at;
  switch (refused.problem.type) {
    case ProblemType::key_reused:
      world_.note(key, visit.process, "told: key-reused", {}, visit.id);
      ++world_.stats.reused;
      expect(other_was_present(key, visit.fingerprint, since), key, "key-reused is told only beside another request");
      break;
    case ProblemType::in_flight:
      world_.note(key, visit.process, "told: in-flight", {}, visit.id);
      ++world_.stats.in_flight;
      if (sibling_ran(key, since)) break;
      expect(was(&Keeper::present_until, key, visit.fingerprint, since), key,
             "G4: another request is told key-reused even while the first is running");
      expect(was(&Keeper::running_until, key, visit.fingerprint, since), key, "in-flight is told only of a live claim");
      expect(!visit.final_round, key, "no key stays in flight when nobody runs");
      break;
    case ProblemType::outcome_unknown:
      world_.note(key, visit.process, "told: outcome-unknown", {}, visit.id);
      ++world_.stats.unknown;
      if (visit.attempt != nullptr) break;
      expect(was(&Keeper::present_until, key, visit.fingerprint, since), key,
             "G4: another request is told key-reused even when the outcome is unknown");
      expect(was(&Keeper::unknown_until, key, visit.fingerprint, since), key,
             "outcome-unknown is told only where an outcome is unknown");
      break;
    case ProblemType::store_unavailable:
      world_.note(key, visit.process, "told: store-unavailable", {}, visit.id);
      ++world_.stats.unavailable;
      expect(world_.disturbed_until >= since, key, "the store is unavailable only if something is wrong");
      break;
    default:
      expect(false, key, "no other refusal is possible here");
  }
}

// ---- looking back ---------------------------------------------------------------------------------------------------

const Oracle::Life* Oracle::life_with(int key, Fence fence) const {
  const auto& lives = keepers_[static_cast<std::size_t>(key)].lives;
  for (auto life = lives.rbegin(); life != lives.rend(); ++life) {
    if (std::ranges::find(life->fences, fence) != life->fences.end()) return &*life;
  }
  return nullptr;
}

bool Oracle::was(const std::map<Digest, Time> Keeper::* what, int key, const Fingerprint& fingerprint, Time since) {
  Keeper& kept = keeper(key);
  if (const Record* record = ledger_.durable(world_.plan(key).key.id)) remember(kept, *record, world_.now());
  const auto found = (kept.*what).find(fingerprint.digest);
  return found != (kept.*what).end() && found->second >= since;
}

bool Oracle::other_was_present(int key, const Fingerprint& fingerprint, Time since) {
  const Plan& plan = world_.plan(key);
  return was(&Keeper::present_until, key, fingerprint == plan.right ? plan.wrong : plan.right, since);
}

void Oracle::quiet(const std::vector<std::uint64_t>& stopped) {
  const auto can_run = [&](std::uint64_t process) { return std::ranges::find(stopped, process) == stopped.end(); };
  for (auto it = woken_.begin(); it != woken_.end();) {
    const auto visit = visits_.find(it->first);
    const bool slept_on = visit != visits_.end() && visit->second->waiting;
    if (slept_on && !can_run(it->second)) {
      ++it;
      continue;
    }
    if (slept_on) expect(false, visit->second->key, "who waits on the holder's own node wakes when the holder ends");
    it = woken_.erase(it);
  }
  for (auto it = running_.begin(); it != running_.end();) {
    const Attempt& attempt = *it->second;
    if (attempt.ended) {
      it = running_.erase(it);
      continue;
    }
    const Record* record = ledger_.durable(world_.plan(attempt.key).key.id);
    const bool lapsed = record == nullptr || record->fence != attempt.fence || world_.now() >= record->lease_until;
    expect(!lapsed || world_.disturbed_until >= attempt.started_at, attempt.key,
           "a lease is lost while its action runs only if something is wrong");
    ++it;
  }
}

}  // namespace semel::sim
