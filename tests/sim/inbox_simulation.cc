// Who comes when: processes, providers, operators.
#include "sim/inbox_simulation.h"

#include <algorithm>
#include <iterator>

namespace semel::sim {
namespace {

constexpr Millis down_max{400};
constexpr Millis sends_within{30'000};
constexpr Millis healing_round{30'000};
constexpr int healing_rounds = 600;  // five hours: longer than any schedule of chance

InboxSetup drawn(std::uint64_t seed) {
  Random random(seed ^ 0x696e626f78ULL);
  return draw_inbox(random, Time{Millis{1'000'000'000'000}});
}

}  // namespace

InboxSimulation::InboxSimulation(std::uint64_t seed) : InboxSimulation(seed, drawn(seed)) {}

InboxSimulation::InboxSimulation(std::uint64_t seed, InboxSetup setup)
    : world_(seed, std::move(setup)), oracle_(world_), disk_(world_, oracle_), heard_(world_.setup.events.size()) {
  world_.stats.seeds = 1;
  boot();
}

void InboxSimulation::run() {
  for (std::size_t i = 0; i < world_.setup.events.size(); ++i) {
    send(i, world_.random.up_to(sends_within), world_.random.between(1, 3));
  }
  for (int i = 0; i < world_.setup.operators; ++i) {
    world_.after(world_.random.up_to(2 * sends_within), [this] { act(); });
  }
  run_for(2 * sends_within);
  heal();
}

void InboxSimulation::run_for(Millis time) {
  const Time until = world_.now() + time;
  while (!oracle_.broken() && world_.step(until)) {
    if (world_.strikes(world_.setup.faults.crash)) crash();
  }
}

// Nothing goes wrong any more, and somebody looks after what waits for a person.
void InboxSimulation::heal() {
  world_.healed = true;
  world_.note("faults stop");
  const auto heard = [](bool each) { return each; };
  for (int i = 0; i < healing_rounds && !oracle_.broken(); ++i) {
    if (node_->alive()) settle_by_hand();
    run_for(healing_round);
    if (oracle_.open() == 0 && std::ranges::all_of(heard_, heard)) break;
  }
  oracle_.finally();
}

// ---- processes ------------------------------------------------------------------------------------------------------

void InboxSimulation::boot() {
  disk_.restart();
  node_ = std::make_unique<InboxNode>(world_, disk_, oracle_, ++holders_, [this] { crash(); });
  world_.note("process starts");
  node_->start();
}

void InboxSimulation::crash() {
  if (!node_->alive()) return;
  ++world_.stats.crashes;
  world_.note("process ends");
  node_->die();
  world_.after(world_.random.millis(Millis{1}, down_max), [this] { boot(); });
}

// ---- providers and operators ----------------------------------------------------------------------------------------

void InboxSimulation::send(std::size_t event, Millis after, int times) {
  world_.after(after, [this, event, times] { offer(event, times); });
}

// Until it is acknowledged so many times. A provider that hears nothing sends again.
void InboxSimulation::offer(std::size_t event, int times) {
  ++world_.stats.sent;
  const auto told = std::make_shared<bool>(false);
  const auto again = [this, event](int left) { send(event, world_.random.millis(Millis{100}, Millis{2'000}), left); };
  if (node_->alive()) {
    node_->receive(world_.setup.events[event], [this, event, times, told, again](Heard heard) {
      *told = true;
      if (heard == Heard::known) ++world_.stats.known;
      if (heard == Heard::refused) ++world_.stats.refused;
      if (heard == Heard::refused) return again(times);
      heard_[event] = true;
      if (times > 1) again(times - 1);
    });
  }
  world_.after(Millis{3'000}, [told, again, times] {
    if (!*told) again(times);
  });
}

void InboxSimulation::act() {
  if (!node_->alive() || oracle_.events().empty()) return;
  const auto at = static_cast<std::ptrdiff_t>(world_.random.below(oracle_.events().size()));
  const store::AcceptedEvent& event = std::next(oracle_.events().begin(), at)->second;
  const store::DeliveryRecord& delivery = event.deliveries[world_.random.below(event.deliveries.size())];
  if (world_.random.chance(3'000)) {
    node_->pause(delivery.to);
    world_.after(world_.random.up_to(Millis{10'000}), [this, to = delivery.to] {
      if (node_->alive()) node_->resume(to);
    });
    return;
  }
  using What = store::DeliveryChange::What;
  constexpr What acts[] = {What::redeliver, What::discard, What::confirm};
  node_->change({.id = event.id,
                 .to = delivery.to,
                 .what = world_.random.pick(acts),
                 .reason = "a test",
                 .retain_ended = world_.setup.config.retain_dead});
}

// Pauses are over, unknown outcomes are settled, and nothing dead stands in the way of its object.
void InboxSimulation::settle_by_hand() {
  for (const SimDestination& each : world_.setup.destinations) node_->resume(each.rules.name);
  using What = store::DeliveryChange::What;
  for (const auto& [id, event] : oracle_.events()) {
    for (const store::DeliveryRecord& delivery : event.deliveries) {
      const bool unknown = delivery.state == store::DeliveryState::unknown;
      const bool blocks = delivery.state == store::DeliveryState::dead && event.line.blocks;
      if (!unknown && !blocks) continue;
      node_->change({.id = id,
                     .to = delivery.to,
                     .what = unknown ? What::confirm : What::discard,
                     .reason = "a test",
                     .retain_ended = world_.setup.config.retain_dead});
    }
  }
}

}  // namespace semel::sim
