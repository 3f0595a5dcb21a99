// How a seed becomes a world, and how a history becomes text.
#include "sim/world.h"

#include <memory>
#include <sstream>
#include <string>
#include <utility>

namespace semel::sim {
namespace {

// Each kind of fault is there in about half of the worlds, so that they meet in every mixture. One world in four is
// calm: there, nothing excuses a lost lease or an unavailable store.
Faults draw_faults(Random& random) {
  Faults faults;
  if (random.chance(2'500)) return faults;
  const auto some = [&](int most) { return random.chance(5'000) ? random.between(1, most) : 0; };
  faults.crash = some(60);
  faults.pause = some(120);
  faults.stall = some(150);
  faults.store_crash = some(40);
  faults.cut_off = some(1'200);
  faults.commit_full = some(300);
  faults.commit_failed = some(150);
  faults.commit_crashed = some(150);
  faults.commit_slow = some(300);
  faults.letter_lost = some(600);
  faults.answer_lost = some(600);
  faults.letter_late = some(500);
  faults.answer_late = some(500);
  return faults;
}

Fingerprint any_fingerprint(Random& random) {
  Fingerprint fingerprint;
  for (auto& byte : fingerprint.digest) byte = static_cast<std::uint8_t>(random.below(256));
  return fingerprint;
}

Policy any_policy(Random& random) {
  constexpr Millis leases[] = {Millis{60}, Millis{150}, Millis{400}};
  constexpr Millis ttls[] = {Millis{150}, Millis{700}, Millis{2'500}, Millis{15'000}};
  constexpr Millis waits[] = {Millis{0}, Millis{50}, Millis{500}, Millis{4'000}};
  constexpr Policy::OnUnknown unknowns[] = {Policy::OnUnknown::hold, Policy::OnUnknown::retry,
                                            Policy::OnUnknown::probe};
  return {.ttl = random.pick(ttls),
          .lease = random.pick(leases),
          .in_flight = random.chance(5'000) ? Policy::InFlight::wait : Policy::InFlight::conflict,
          .wait_max = random.pick(waits),
          .on_unknown = random.pick(unknowns)};
}

// Every other key has a twin: the same text in another scope.
std::vector<Plan> draw_plans(Random& random) {
  std::vector<Plan> plans;
  const int count = random.between(2, 6);
  for (int i = 0; i < count; ++i) {
    const std::string text = "key-" + std::to_string(i);
    for (const char* scope : {"tenant-a", "tenant-b"}) {
      Plan plan;
      plan.key = make_key("sim", scope, text).value();
      plan.right = any_fingerprint(random);
      plan.wrong = any_fingerprint(random);
      plan.policy = any_policy(random);
      plans.push_back(plan);
      if (random.chance(5'000)) break;
    }
  }
  return plans;
}

// In some worlds the keys are events of one or two objects. Drawn apart, so that worlds without order stay as they are.
void draw_order(Random random, std::vector<Plan>& plans) {
  if (!random.chance(4'000)) return;
  const Key objects[] = {make_key("sim", "", "object-a").value(), make_key("sim", "", "object-b").value()};
  for (Plan& plan : plans) {
    if (random.chance(2'000)) continue;
    const char stamp = static_cast<char>('1' + random.below(4));
    plan.order = std::make_shared<const Order>(Order{.object = random.pick(objects), .stamp = {stamp}});
  }
}

Setup draw_setup(Random& random) {
  Setup setup;
  setup.embedded = random.chance(4'000);
  setup.nodes = setup.embedded ? 1 : random.between(2, 4);
  setup.lanes = random.between(1, 2);
  setup.visits = random.between(60, 240);
  setup.recent_writes = random.chance(5'000);
  setup.faults = draw_faults(random);
  setup.plans = draw_plans(random);
  return setup;
}

}  // namespace

void Stats::operator+=(const Stats& other) {
  steps += other.steps, seeds += other.seeds, batches += other.batches, crashes += other.crashes;
  pauses += other.pauses, stalls += other.stalls, store_crashes += other.store_crashes;
  commit_faults += other.commit_faults, letter_faults += other.letter_faults, attempts += other.attempts;
  effects += other.effects, probes += other.probes, renewals += other.renewals, sweeps += other.sweeps;
  visits += other.visits, ran += other.ran, replays += other.replays, reused += other.reused;
  in_flight += other.in_flight, unknown += other.unknown, unavailable += other.unavailable, lives += other.lives;
  superseded += other.superseded, ordered_claims += other.ordered_claims;
}

std::string Stats::text() const {
  std::ostringstream out;
  out << steps << " steps, " << seeds << " seeds: " << visits << " visits, " << lives << " lives of keys, " << attempts
      << " attempts, " << effects << " effects, " << batches << " batches, " << renewals << " renewals, " << sweeps
      << " sweeps, " << probes << " probes\n"
      << "  faults: " << crashes << " crashes, " << store_crashes << " store crashes, " << pauses << " pauses, "
      << stalls << " stalls, " << commit_faults << " commits, " << letter_faults << " letters\n"
      << "  told: " << ran << " ran, " << replays << " replays, " << reused << " key-reused, " << in_flight
      << " in-flight, " << unknown << " outcome-unknown, " << unavailable << " store-unavailable, " << superseded
      << " superseded of " << ordered_claims << " ordered claims";
  return out.str();
}

World::World(std::uint64_t seed) : random(seed), setup(draw_setup(random)) {
  draw_order(Random(seed ^ 0x6f72646572ULL), setup.plans);
  for (std::size_t i = 0; i < setup.plans.size(); ++i) keys_[setup.plans[i].key.id] = static_cast<int>(i);
}

void World::after(Millis delay, std::function<void()> what) {
  const std::uint64_t id = next_alarm_++;
  alarms_[id] = clock.after(outside.get_executor(), delay, [this, id, what = std::move(what)] {
    const auto alarm = alarms_.extract(id);  // lives until `what` is done: it holds this very lambda
    what();
  });
}

void World::note(int key, std::uint64_t process, const char* what, Fence fence, std::uint64_t detail) {
  history.push_back({.at = now(), .key = key, .process = process, .what = what, .fence = fence, .detail = detail});
}

int World::index_of(const Digest& id) const {
  const auto found = keys_.find(id);
  return found == keys_.end() ? -1 : found->second;
}

std::vector<int> World::siblings(int key) const {
  std::vector<int> found;
  const SharedOrder& order = setup.plans[static_cast<std::size_t>(key)].order;
  for (std::size_t i = 0; order != nullptr && i < setup.plans.size(); ++i) {
    const SharedOrder& other = setup.plans[i].order;
    if (static_cast<int>(i) != key && other != nullptr && other->object == order->object) {
      found.push_back(static_cast<int>(i));
    }
  }
  return found;
}

std::string World::story(int key, std::size_t lines) const {
  std::vector<const Event*> events;
  for (const Event& event : history) {
    if (event.key == key || event.key < 0) events.push_back(&event);
  }
  if (events.size() > lines) events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(lines));
  const Time start = history.empty() ? Time{} : history.front().at;
  std::ostringstream out;
  for (const Event* event : events) {
    out << "  +" << (event->at - start).count() << " ms  ";
    if (event->process != 0) out << "process " << event->process << "  ";
    out << event->what;
    if (event->fence.number != 0) out << "  fence " << event->fence.number << '/' << event->fence.owner % 10'000;
    if (event->detail != 0) out << "  #" << event->detail;
    out << '\n';
  }
  return out.str();
}

std::uint64_t World::digest_of_history() const {
  std::uint64_t sum = 0xcbf29ce484222325ULL;
  const auto mix = [&](std::uint64_t value) { sum = (sum ^ value) * 0x100000001b3ULL; };
  for (const Event& event : history) {
    mix(static_cast<std::uint64_t>(event.at.time_since_epoch().count()));
    mix(static_cast<std::uint64_t>(event.key));
    mix(event.process);
    for (const char* letter = event.what; *letter != '\0'; ++letter) mix(static_cast<std::uint64_t>(*letter));
    mix(event.fence.number);
    mix(event.fence.owner);
    mix(event.detail);
  }
  return sum;
}

}  // namespace semel::sim
