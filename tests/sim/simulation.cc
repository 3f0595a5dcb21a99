// The loop of steps, the faults between them, and the end: healed, asked once more, expired, swept.
#include "sim/simulation.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace semel::sim {
namespace {

constexpr Millis down_max{400};
constexpr Millis pause_max{1'500};  // longer than any lease
constexpr Millis stall_max{600};
constexpr Millis ttl_max{15'000};
constexpr Millis lease_max{400};
constexpr std::uint64_t steps_max = 200'000;  // of one world; none comes near it unless somebody goes round in circles

}  // namespace

Simulation::Simulation(std::uint64_t seed)
    : world_(seed),
      ledger_(world_),
      oracle_(world_, ledger_),
      server_(world_, ledger_, oracle_),
      upstream_(world_, oracle_),
      processes_(static_cast<std::size_t>(world_.setup.nodes)),
      clients_(world_, oracle_, upstream_, [this] { return any_open(); }) {
  ledger_.watched_by(oracle_);
  server_.on_crash([this] { crash_store(); });
  world_.stats.seeds = 1;
  for (std::size_t place = 0; place < processes_.size(); ++place) boot(place);
}

void Simulation::run() {
  clients_.come();
  while (!oracle_.broken() && !clients_.finished() && step()) {
  }
  if (oracle_.broken()) return;
  heal();
  run_until_quiet();
  if (oracle_.broken()) return;
  world_.clock.advance(4 * lease_max);
  clients_.come_last();
  run_until_quiet();
  oracle_.expect(clients_.finished(), -1, "every caller gets an answer");

  world_.clock.advance(ttl_max);
  while (!oracle_.broken() && !ledger_.empty()) {
    const std::uint64_t before = world_.stats.steps;
    clients_.sweep_all();
    run_until_quiet();
    oracle_.expect(world_.stats.steps - before < 1'000, -1, "a sweep ends");
    if (world_.stats.sweeps > 5'000) oracle_.expect(false, -1, "everything that has expired can be swept");
  }
}

// ---- steps ----------------------------------------------------------------------------------------------------------

bool Simulation::step() {
  strike();
  if (!run_somebody()) {
    std::vector<std::uint64_t> stopped;
    for (const auto& process : processes_) {
      if (process != nullptr && process->paused()) stopped.push_back(process->id);
    }
    oracle_.quiet(stopped);
    if (!world_.clock.advance_to_next_alarm()) return false;
  }
  ++world_.stats.steps;
  oracle_.expect(world_.stats.steps < steps_max, -1, "a world comes to its end");
  return true;
}

// Whoever is ready, chosen by chance: the store, the world outside, or one event loop of one process.
bool Simulation::run_somebody() {
  struct Choice {
    Process* process;
    std::size_t lane;
  };
  std::vector<Choice> choices;
  if (store_runs() && server_.ready()) choices.push_back({nullptr, 0});
  choices.push_back({nullptr, 1});
  for (const auto& process : processes_) {
    if (process == nullptr || process->paused()) continue;
    for (std::size_t lane = 0; lane < process->lanes(); ++lane) choices.push_back({process.get(), lane});
  }
  while (!choices.empty()) {
    const std::size_t at = world_.random.below(choices.size());
    const Choice choice = choices[at];
    bool ran = true;
    if (choice.process != nullptr) {
      ran = choice.process->step(choice.lane);
    } else if (choice.lane == 0) {
      server_.step();
    } else {
      world_.outside.restart();
      ran = world_.outside.poll_one() > 0;
    }
    if (ran) return true;
    choices.erase(choices.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return false;
}

bool Simulation::store_runs() {
  if (!world_.setup.embedded) return server_.up();
  return processes_[0] != nullptr && !processes_[0]->paused();
}

void Simulation::run_until_quiet() {
  while (!oracle_.broken() && step()) {
  }
}

// ---- faults ---------------------------------------------------------------------------------------------------------

void Simulation::strike() {
  const Faults& faults = world_.setup.faults;
  if (const auto doomed = clients_.doomed()) {
    if (Process* process = by_id(*doomed)) crash(*process);
  }
  if (ledger_.stopped() && server_.up() && !restart_planned_) {  // somebody notices, and starts it again
    restart_planned_ = true;
    const Millis delay = world_.random.millis(Millis{5}, down_max);
    world_.disturb(delay);
    world_.after(delay, [this] {
      restart_planned_ = false;
      if (ledger_.stopped()) crash_store();
    });
  }
  Process* victim = any_open();
  if (victim == nullptr) return;
  if (world_.strikes(faults.crash)) return crash(*victim);
  if (world_.strikes(faults.pause)) return pause(*victim);
  if (world_.strikes(faults.store_crash)) return crash_store();
  if (world_.strikes(faults.stall)) {
    ++world_.stats.stalls;
    const Millis time = world_.random.millis(Millis{1}, stall_max);
    world_.disturb(time);
    world_.clock.advance(time);
  }
}

void Simulation::crash(Process& process) {
  ++world_.stats.crashes;
  world_.note(-1, process.id, "process crashes");
  const auto place = static_cast<std::size_t>(
      std::ranges::find_if(processes_, [&](const auto& one) { return one.get() == &process; }) - processes_.begin());
  if (world_.setup.embedded) server_.stop();
  process.die();
  oracle_.gone(process.id);
  clients_.lost(process.id);
  processes_[place].reset();
  const Millis delay = world_.random.millis(Millis{1}, down_max);
  world_.disturb(delay);
  world_.after(delay, [this, place] { boot(place); });
}

void Simulation::boot(std::size_t place) {
  if (processes_[place] != nullptr) return;
  if (world_.setup.embedded && !server_.up()) server_.start();
  processes_[place] = std::make_unique<Process>(world_, server_, oracle_, next_process_++);
  world_.note(-1, processes_[place]->id, "process starts");
}

void Simulation::pause(Process& process) {
  ++world_.stats.pauses;
  world_.note(-1, process.id, "process stands still");
  process.pause();
  const Millis time = world_.random.millis(Millis{1}, pause_max);
  world_.disturb(time);
  world_.after(time, [this, id = process.id] {
    if (Process* paused = by_id(id)) paused->resume();
    world_.note(-1, id, "process goes on");
  });
}

void Simulation::crash_store() {
  if (world_.setup.embedded) {
    if (processes_[0] != nullptr) crash(*processes_[0]);
    return;
  }
  if (!server_.up()) return;
  ++world_.stats.store_crashes;
  world_.note(-1, 0, "store crashes");
  server_.stop();
  const Millis delay = world_.random.millis(Millis{1}, down_max);
  world_.disturb(delay);
  world_.after(delay, [this] {
    world_.note(-1, 0, "store starts");
    server_.start();
  });
}

void Simulation::heal() {
  world_.healed = true;
  world_.note(-1, 0, "faults stop");
}

// ---- processes ------------------------------------------------------------------------------------------------------

Process* Simulation::any_open() {
  std::vector<Process*> open;
  for (const auto& process : processes_) {
    if (process != nullptr) open.push_back(process.get());
  }
  return open.empty() ? nullptr : world_.random.pick(open);
}

Process* Simulation::by_id(std::uint64_t id) {
  const auto found =
      std::ranges::find_if(processes_, [&](const auto& process) { return process != nullptr && process->id == id; });
  return found == processes_.end() ? nullptr : found->get();
}

}  // namespace semel::sim
