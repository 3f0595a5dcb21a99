// The way of an event through one process, in the order of the parts of the header.
#include "sim/inbox_node.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "sim/inbox_handler.h"
#include "store/inbox_codec.h"
#include "store/inbox_step.h"

namespace semel::sim {
namespace {

using store::DeliveryState;

constexpr Millis house_every{1'000};
constexpr Millis again_after{1'000};
constexpr std::size_t adopt_limit = 3;
constexpr std::size_t sweep_limit = 50;
constexpr std::size_t take_limit = 256;

bool is_replay(const store::TakenDelivery& delivery) {
  return delivery.event.deliveries[delivery.at].urgency == store::Urgency::replay;
}

store::AcceptOrder order_for(const SimEvent& event, const InboxSetup& setup, std::uint64_t owner) {
  store::AcceptOrder order;
  order.key = event.key;
  order.fingerprint = event.fingerprint;
  order.ttl = event.ttl;
  order.owner = owner;
  order.source = event.source;
  order.type = event.type;
  order.line = event.line;
  order.parcel = std::make_shared<const store::Parcel>(store::Parcel{.status = 200, .fields = {}, .body = "body"});
  order.depth_max = setup.depth_max;
  order.bytes_max = setup.config.bytes_max;
  order.retain_ended = setup.config.retain_done;
  return order;
}

SharedResponse reply_to_duplicates(const core::EventId&, const Key&, const Fence&) {
  return std::make_shared<const Response>(Response{.status = 200, .fields = {}, .body = {}});
}

}  // namespace

InboxNode::InboxNode(InboxWorld& world, InboxDisk& disk, InboxOracle& oracle, std::uint32_t holder,
                     std::function<void()> ends)
    : world_(world), disk_(disk), oracle_(oracle), ends_(std::move(ends)), book_(holder) {
  std::vector<inbox::Destination> rules;
  for (const SimDestination& each : world.setup.destinations) rules.push_back(each.rules);
  gates_.configure(rules);
}

void InboxNode::later(Millis delay, std::function<void()> what) {
  world_.after(delay, [life = std::weak_ptr(life_), what = std::move(what)] {
    if (!life.expired()) what();
  });
}

// ---- batches --------------------------------------------------------------------------------------------------------

void InboxNode::submit(Step step, Then then) {
  auto letter = std::make_shared<Letter>();
  letter->then = std::move(then);
  letter->call.step = [step = std::move(step), dues = &letter->dues](store::InboxBook& book, store::InboxTable& table,
                                                                     store::KeyRecords& records, Time now) {
    Result<void> made = step(book, table, records, now);
    *dues = book.take_dues();
    return made;
  };
  queue_.push_back(std::move(letter));
  if (std::exchange(batch_planned_, true)) return;
  later(world_.random.up_to(Millis{3}), [this] { run_batch(); });
}

void InboxNode::run_batch() {
  batch_planned_ = false;
  const std::size_t count = std::min(queue_.size(), 1 + world_.random.below(world_.setup.batch_max));
  std::vector<std::shared_ptr<Letter>> letters(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  std::deque<store::StoreCall> calls;
  store::embedded::InboxPart part{.book = book_, .reader = disk_};
  store::embedded::Batch batch(disk_, &recent_, &part);
  for (const auto& letter : letters) {
    calls.push_back({.key = {}, .request = &letter->call});
    batch.judge({.call = &calls.back()}, world_.now());
  }
  batch.commit();
  if (disk_.cut_off()) return ends_();
  if (disk_.stopped()) later(world_.random.millis(Millis{5}, Millis{400}), ends_);
  for (const auto& letter : letters) later(world_.random.up_to(Millis{2}), [this, letter] { hear(letter); });
  if (queue_.empty() || std::exchange(batch_planned_, true)) return;
  later(Millis{0}, [this] { run_batch(); });
}

void InboxNode::hear(const std::shared_ptr<Letter>& letter) {
  if (letter->call.answer) {
    for (const auto& [to, at] : letter->dues) expect_due(to, at);
  }
  letter->then(letter->call.answer);
}

// ---- the life of a process ------------------------------------------------------------------------------------------

void InboxNode::start() {
  oracle_.expect(book_.open(disk_, world_.now()).has_value(), "an inbox can be opened again");
  for (const SimDestination& each : world_.setup.destinations) oracle_.paused(each.rules.name, false);
  const auto see = [&](std::string_view key, std::string_view value) {
    const Result<store::DestinationControl> control = store::decode_control(key, value);
    oracle_.expect(control.has_value(), "what operators have decided can be read");
    if (control && control->paused) {
      gates_.find(control->to)->pause(std::nullopt, control->reason);
      oracle_.paused(control->to, true);
    }
    return true;
  };
  static_cast<void>(disk_.walk(store::control_prefix, store::control_prefix, see));
  adopt();
}

void InboxNode::adopt() {
  store::AdoptOrder order{.limit = adopt_limit, .rest = world_.setup.rest, .holding = {}};
  for (const SimDestination& each : world_.setup.destinations) {
    if (each.rules.on_unknown == inbox::OnSilence::hold) order.holding.push_back(each.rules.name);
    if (each.rules.on_unknown == inbox::OnSilence::probe) order.holding_replays.push_back(each.rules.name);
  }
  auto adopted = std::make_shared<std::optional<std::size_t>>();
  const Step step = [adopted, order](store::InboxBook& book, store::InboxTable& table, store::KeyRecords&, Time now) {
    return store::kept(book.adopt(table, order, now), *adopted);
  };
  submit(step, [this, adopted](const Result<void>& answer) {
    if (!answer) return later(again_after, [this] { adopt(); });
    world_.stats.adopted += **adopted;
    if (**adopted > 0) return adopt();
    adopted_ = true;
    round();
  });
}

void InboxNode::round() {
  for (const SimDestination& each : world_.setup.destinations) serve(each.rules.name);
  keep_house();
  later(house_every, [this] { round(); });
}

void InboxNode::keep_house() {
  auto tallies = std::make_shared<std::optional<std::vector<store::DeliveryTally>>>();
  const Step step = [tallies](store::InboxBook& book, store::InboxTable& table, store::KeyRecords&, Time now) {
    const Result<std::size_t> swept = book.sweep(table, sweep_limit, now);
    if (!swept) return Result<void>(std::unexpected(swept.error()));
    Result<void> audited = book.audit(table, sweep_limit, now);
    return audited ? store::kept(book.status(table), *tallies) : audited;
  };
  submit(step, [this, tallies](const Result<void>& answer) {
    if (answer) oracle_.balanced(**tallies);
  });
}

// ---- accepting ------------------------------------------------------------------------------------------------------

void InboxNode::receive(const SimEvent& event, std::function<void(Heard)> hears) {
  auto order = std::make_shared<store::AcceptOrder>(order_for(event, world_.setup, world_.random.next()));
  for (const std::string& name : event.to) {
    store::AcceptOrder::To to{.name = name, .room = false, .skipped_by = {}};
    const bool skipped = std::ranges::find(event.skipped, name) != event.skipped.end();
    if (skipped) to.skipped_by = "{type} = 'another'";
    if (!skipped && event.line.reorder == Millis{0}) to.room = gates_.find(name)->enter(1, world_.now()) == 1;
    if (to.room) oracle_.entered(name);
    order->to.push_back(std::move(to));
  }
  auto accepted = std::make_shared<std::optional<store::Acceptance>>();
  const Step step = [order, accepted](store::InboxBook& book, store::InboxTable& table, store::KeyRecords& records,
                                      Time now) {
    return store::kept(book.accept(table, records, *order, reply_to_duplicates, now), *accepted);
  };
  submit(step, [this, order, accepted, hears = std::move(hears)](const Result<void>& answer) {
    const auto* const taken = answer ? std::get_if<store::AcceptedEvent>(&**accepted) : nullptr;
    const bool known = answer && std::holds_alternative<store::KnownEvent>(**accepted);
    if (taken != nullptr) oracle_.acknowledged(taken->id);
    if (known) oracle_.acknowledged_again(order->key.id);
    follow_up(*order, taken);
    hears(taken != nullptr ? Heard::taken : known ? Heard::known : Heard::refused);
  });
}

void InboxNode::follow_up(const store::AcceptOrder& order, const store::AcceptedEvent* event) {
  for (std::size_t i = 0; i < order.to.size(); ++i) {
    const store::DeliveryRecord* const delivery = event == nullptr ? nullptr : &event->deliveries[i];
    const bool runs = delivery != nullptr && delivery->state == DeliveryState::running;
    if (order.to[i].room && !runs) gates_.find(order.to[i].name)->withdraw(1);
    if (runs) launch({.event = *event, .at = i});
    if (delivery == nullptr || delivery->state != DeliveryState::waiting || delivery->in_line) continue;
    expect_due(delivery->to, delivery->due);
  }
}

// ---- what waits -----------------------------------------------------------------------------------------------------

void InboxNode::expect_due(const std::string& to, Time at) {
  gates_.find(to)->expect(at);
  later(Millis{0}, [this, to] { serve(to); });
}

void InboxNode::serve(const std::string& to) {
  const auto gate = gates_.find(to);
  const Time now = world_.now();
  const std::optional<Millis> wait = gate->look_in(now);
  if (!adopted_ || !wait || serving_.contains(to)) return;
  if (*wait > Millis{0}) {
    if (*wait < house_every) later(*wait, [this, to] { serve(to); });
    return;
  }
  const std::size_t slots = gate->enter(take_limit, now);
  if (slots == 0) return;
  oracle_.entered(to);
  serving_.insert(to);
  gate->looked(std::nullopt);
  const store::TakeOrder order{
      .to = to, .limit = slots, .replays_max = gate->replays_max(), .retain_ended = world_.setup.config.retain_done};
  auto taken = std::make_shared<std::optional<store::TakenDeliveries>>();
  const Step step = [order, taken](store::InboxBook& book, store::InboxTable& table, store::KeyRecords&, Time at) {
    return store::kept(book.take(table, order, at), *taken);
  };
  submit(step, [this, to, slots, now, taken](const Result<void>& answer) {
    took(to, slots, now, answer, taken->value_or(store::TakenDeliveries{}));
  });
}

void InboxNode::took(const std::string& to, std::size_t slots, Time now, const Result<void>& answer,
                     const store::TakenDeliveries& taken) {
  const auto gate = gates_.find(to);
  serving_.erase(to);
  if (!answer) {
    gate->withdraw(slots);
    gate->expect(now + again_after);
    return;
  }
  gate->withdraw(slots - taken.deliveries.size());
  const std::optional<Time>& next = taken.next;
  if (next) gate->expect(*next);
  for (const store::TakenDelivery& delivery : taken.deliveries) {
    if (is_replay(delivery)) gate->began_replay();
    launch(delivery);
  }
  serve(to);
}

// ---- attempts -------------------------------------------------------------------------------------------------------

// The handler goes on with what it was given, also when the process that gave it dies.
void InboxNode::launch(store::TakenDelivery taken) {
  const auto delivery = std::make_shared<const store::TakenDelivery>(std::move(taken));
  const store::DeliveryRecord& to = delivery->event.deliveries[delivery->at];
  const core::EventId id = delivery->event.id;
  const Result<std::optional<std::string>> parcel = disk_.get(store::parcel_key(id));
  const bool has_body = !parcel || parcel->has_value();  // a disk that has stopped says nothing
  oracle_.began(id, to.to, to.attempt, has_body);
  const HandlerTurn turn = draw_turn(world_, world_.destination(to.to), delivery->event.type == poison_type);
  world_.after(turn.takes, [this, oracle = &oracle_, life = std::weak_ptr(life_), delivery, turn] {
    const store::DeliveryRecord& record = delivery->event.deliveries[delivery->at];
    oracle->answered(delivery->event.id, record.to, record.attempt, turn.answer.ruling);
    if (life.expired()) return;
    const inbox::Destination& rules = world_.destination(record.to).rules;
    const store::SettleOrder order =
        gateway::settlement_of(*delivery, rules, turn.answer, world_.setup.config, world_.now(), world_.chance());
    if (turn.answer.ruling.gone) pause(record.to);
    settle(delivery, order, turn.answer.ruling.health);
  });
}

// As Dispatcher::settle(): a store that does not work is waited for.
void InboxNode::settle(std::shared_ptr<const store::TakenDelivery> delivery, const store::SettleOrder& order,
                       inbox::Health health) {
  const Step step = [order](store::InboxBook& book, store::InboxTable& table, store::KeyRecords& records, Time now) {
    return book.settle(table, records, order, now);
  };
  submit(step, [this, delivery, order, health](const Result<void>& answer) {
    const bool again = !answer && (answer.error().code == Code::unavailable || answer.error().code == Code::full);
    if (again) return later(again_after, [=, this] { settle(delivery, order, health); });
    oracle_.expect(answer.has_value(), "the end of an attempt that nobody else has ended is taken");
    const Time now = world_.now();
    const auto gate = gates_.find(order.to);
    gate->leave(health, now, world_.chance());
    if (is_replay(*delivery)) gate->ended_replay(now);
    if (order.state == DeliveryState::waiting) gate->expect(now + order.wait);
    if (delivery->event.line.kind != store::Line::Kind::none) gate->expect(now);
    serve(order.to);
  });
}

// ---- operators ------------------------------------------------------------------------------------------------------

void InboxNode::change(const store::DeliveryChange& change) {
  ++world_.stats.acts;
  oracle_.acts_on(change.id, change.to);
  const Step step = [change](store::InboxBook& book, store::InboxTable& table, store::KeyRecords&, Time now) {
    const Result<store::AcceptedEvent> changed = book.change(table, change, now);
    return changed ? Result<void>() : Result<void>(std::unexpected(changed.error()));
  };
  submit(step, [](const Result<void>&) {});  // an act that was refused is tried again by who wants it
}

void InboxNode::control(const store::DestinationControl& control) {
  const Step step = [control](store::InboxBook&, store::InboxTable& table, store::KeyRecords&, Time) {
    table.put(store::control_key(control.to), store::encode_control(control));
    return Result<void>();
  };
  submit(step, [](const Result<void>&) {});
}

void InboxNode::pause(const std::string& to) {
  ++world_.stats.pauses;
  gates_.find(to)->pause(std::nullopt, "a test");
  oracle_.paused(to, true);
  control({.to = to, .paused = true, .until = std::nullopt, .reason = "a test"});
}

void InboxNode::resume(const std::string& to) {
  gates_.find(to)->resume();
  oracle_.paused(to, false);
  control({.to = to, .paused = false, .until = std::nullopt, .reason = "a test"});
  later(Millis{0}, [this, to] { serve(to); });
}

}  // namespace semel::sim
