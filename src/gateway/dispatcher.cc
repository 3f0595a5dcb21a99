// run() looks for what is due; deliver() is one delivery from its beginning to its settled end;
// the attempt itself is in dispatcher_attempt.cc.
#include "gateway/dispatcher.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include "config/audit.h"
#include "config/config.h"
#include "core/event_id.h"
#include "gateway/destination_gate.h"
#include "gateway/job_runner.h"
#include "gateway/plan.h"
#include "inbox/destination.h"
#include "inbox/verdict.h"
#include "runtime/failpoint.h"
#include "runtime/pause.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include "telemetry/inbox_metrics.h"
#include "webhook/webhook.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::gateway {
namespace {

constexpr std::size_t adopt_limit = 500;
constexpr int adopt_rounds = 20;  // at a time, of an inbox that is shared
constexpr std::size_t take_limit = 256;
constexpr Millis shortest_nap{1};
constexpr Millis house_every{1'000};
constexpr Millis leave_look_every{20};
constexpr Millis again_after{1'000};   // a store that does not work
constexpr Millis unread_wait{10'000};  // an event that the store could not read
constexpr Millis unknown_destination_wait{60'000};

bool is_replay(const store::TakenDelivery& delivery) {
  return delivery.event.deliveries[delivery.at].urgency == store::Urgency::replay;
}

}  // namespace

Dispatcher::Dispatcher(store::Inbox& inbox, store::InboxDesk& desk, Clock& clock, telemetry::InboxMetrics& metrics,
                       std::uint64_t seed)
    : inbox_(inbox), desk_(desk), clock_(clock), notes_{.metrics = metrics, .attempts = nullptr} {
  counts_.dice = seed;
  if (inbox_.is_shared()) gates_.be_one_of_several();
  inbox_.tell_due([this](const std::string& to, Time at) { expect(to, at); });
}

void Dispatcher::add_jobs(store::InboxJobs& jobs) {
  JobRunner::Surroundings around{.expect = [this](const std::string& to) { expect(to, clock_.now()); },
                                 .retain_ended = [this] { return seats_.front().plan()->config->inbox.retain_dead; },
                                 .needed = [this] { return !inbox_.is_shared() || !gates_.current().empty(); }};
  jobs_ = std::make_unique<JobRunner>(jobs, clock_, std::move(around));
}

void Dispatcher::add_worker(Executor executor, PlanOf plan) {
  seats_.push_back({.executor = std::move(executor), .plan = std::move(plan)});
}

void Dispatcher::configure(const std::shared_ptr<const config::Config>& config) {
  gates_.configure(config->destinations);
  Millis rest{0};
  for (const webhook::Webhook& webhook : config->webhooks) {
    if (webhook.intake) rest = std::max(rest, webhook.target.policy.lease);
  }
  for (std::size_t i = 0; i < config->route_intakes.size(); ++i) {
    if (config->route_intakes[i]) rest = std::max(rest, config->routes[i].target.policy.lease);
  }
  for (const inbox::Destination& to : config->destinations) {
    const auto sends = [&](const config::OutboxConfig& each) {
      return std::ranges::find(each.deliver, to.name) != each.deliver.end();
    };
    const auto pages = [&](const config::AuditConfig& each) { return each.page_to == to.name; };
    const bool told = std::ranges::any_of(config->outboxes, sends) || std::ranges::any_of(config->audits, pages);
    if (told) rest = std::max(rest, config->upstreams[to.upstream].timeout);
  }
  rest_ = rest.count();
}

// splitmix64
std::uint64_t Dispatcher::roll() {
  std::uint64_t x = counts_.dice.fetch_add(0x9E37'79B9'7F4A'7C15, std::memory_order_relaxed);
  x = (x ^ (x >> 30U)) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ (x >> 27U)) * 0x94D0'49BB'1331'11EB;
  return x ^ (x >> 31U);
}

double Dispatcher::chance() {
  return static_cast<double>(roll() >> 11U) * 0x1.0p-53;
}

std::uint64_t Dispatcher::next_owner() {
  return roll() | 1U;
}

const Dispatcher::Seat& Dispatcher::next_seat() {
  return seats_[counts_.next_seat.fetch_add(1, std::memory_order_relaxed) % seats_.size()];
}

Task<void> Dispatcher::run() {
  rounds_.pause = std::make_shared<runtime::Pause>(clock_);
  if (!inbox_.is_shared()) {
    co_await restore_pauses();
    co_await adopt();
  }
  if (jobs_ != nullptr) boost::asio::co_spawn(seats_.front().executor, jobs_->run(), boost::asio::detached);
  while (!draining_) {
    const std::shared_ptr<runtime::Pause> pause = rounds_.pause = std::make_shared<runtime::Pause>(clock_);
    Millis nap = house_every;
    co_await look_at_others();
    divide();
    for (const std::shared_ptr<DestinationGate>& gate : gates_.current()) {
      const std::optional<Millis> wait = co_await serve(gate);
      if (wait) nap = std::min(nap, *wait);
    }
    co_await keep_house();
    co_await pause->wait(std::max(nap, shortest_nap));
  }
  co_await leave();
}

// What is due for one destination, as far as it has room. Returns when to look again.
Task<std::optional<Millis>> Dispatcher::serve(std::shared_ptr<DestinationGate> gate) {
  const Time now = clock_.now();
  const std::optional<Millis> wait = gate->look_in(now);
  if (!wait || *wait > Millis{0}) co_return wait;
  const std::size_t slots = gate->enter(take_limit, now);
  if (slots == 0) co_return gate->look_in(now);
  const GateView view = gate->view();
  gate->looked(std::nullopt);  // what comes from now on is told to the gate
  store::TakeOrder order{.to = view.name, .limit = slots, .replays_max = gate->replays_max()};
  order.retain_ended = seats_.front().plan()->config->inbox.retain_done;
  Result<store::TakenDeliveries> taken = co_await inbox_.take(std::move(order));
  if (!taken) {
    gate->withdraw(slots);
    gate->expect(now + again_after);
    co_return again_after;
  }
  const std::size_t came = taken->deliveries.size();
  gate->withdraw(slots - std::min(came, slots));
  // A take whose answer was lost is answered now, with all that it took when there was more room.
  gate->exceed(came - std::min(came, slots));
  const std::optional<Time>& next = taken->next;
  if (next) gate->expect(*next);
  for (store::TakenDelivery& delivery : taken->deliveries) {
    if (is_replay(delivery)) gate->began_replay();
    hand_out(std::move(delivery));
  }
  co_return gate->look_in(clock_.now());
}

void Dispatcher::hand_out(store::TakenDelivery delivery) {
  counts_.under_way.fetch_add(1, std::memory_order_relaxed);
  const Seat& seat = next_seat();
  auto begin = [this, &seat, delivery = std::move(delivery)]() mutable {
    boost::asio::co_spawn(seat.executor, deliver(seat.plan(), std::move(delivery), nullptr), boost::asio::detached);
  };
  boost::asio::post(seat.executor, std::move(begin));
}

void Dispatcher::launch(std::shared_ptr<const Plan> plan, store::TakenDelivery delivery,
                        std::shared_ptr<const store::Parcel> parcel, const Executor& executor) {
  counts_.under_way.fetch_add(1, std::memory_order_relaxed);
  boost::asio::co_spawn(executor, deliver(std::move(plan), std::move(delivery), std::move(parcel)),
                        boost::asio::detached);
}

Task<void> Dispatcher::deliver(std::shared_ptr<const Plan> plan, store::TakenDelivery delivery,
                               std::shared_ptr<const store::Parcel> parcel) {
  const store::DeliveryRecord& to = delivery.event.deliveries[delivery.at];
  const std::shared_ptr<DestinationGate> gate = gates_.find(to.to);
  const auto& destinations = plan->config->destinations;
  const auto found = std::ranges::find(destinations, to.to, &inbox::Destination::name);
  store::SettleOrder order;
  order.id = delivery.event.id;
  order.to = to.to;
  order.attempt = to.attempt;
  bool readable = true;
  if (parcel == nullptr) {
    Result<std::optional<store::Parcel>> loaded = co_await inbox_.load(delivery.event.id);
    readable = loaded.has_value();
    order.why = readable ? "what the event came with is not kept any more" : loaded.error().detail;
    std::optional<store::Parcel> found_parcel = loaded ? *std::move(loaded) : std::nullopt;
    if (found_parcel) parcel = std::make_shared<const store::Parcel>(*std::move(found_parcel));
  }
  inbox::Health health = inbox::Health::well;
  if (found == destinations.end() || draining_) {
    order.state = store::DeliveryState::waiting;
    order.wait = draining_ ? Millis{0} : unknown_destination_wait;
    order.why = draining_ ? "the gateway was stopped" : "there is no such destination in the configuration";
    order.tried = false;
  } else if (!readable) {
    order.state = store::DeliveryState::waiting;
    order.wait = unread_wait;
    order.tried = false;
  } else if (parcel == nullptr) {
    order.state = store::DeliveryState::dead;
    order.retain_ended = plan->config->inbox.retain_dead;
  } else {
    std::optional<store::SettleOrder> ended = co_await attempt(plan.get(), &*found, &delivery, parcel.get(), &health);
    order.state = store::DeliveryState::waiting;
    order.why = "the gateway was taken for dead before it began";
    order.tried = false;
    if (ended) order = *std::move(ended);
  }
  const bool ordered = delivery.event.line.kind != store::Line::Kind::none;
  const bool waits = order.state == store::DeliveryState::waiting;
  const core::EventId id = order.id;
  const Millis wait = order.wait;
  co_await settle(std::move(order));
  runtime::failpoint("event-settled");
  if (!waits) waiters_.tell(id);
  const Time now = clock_.now();
  if (gate != nullptr) {
    gate->leave(health, now, chance());
    if (is_replay(delivery)) gate->ended_replay(now);
    if (waits) gate->expect(now + wait);
    if (ordered) gate->expect(now);  // the next of its object may have its turn
    if (gate->look_in(now)) wake();
  }
  counts_.under_way.fetch_sub(1, std::memory_order_relaxed);
}

// A store that is away or full for a while is waited for: the attempt has ended, and only this says so.
Task<void> Dispatcher::settle(store::SettleOrder order) {
  for (;;) {
    const Result<void> settled = co_await inbox_.settle(order);
    const bool refused = !settled && settled.error().code != Code::unavailable && settled.error().code != Code::full;
    if (settled || refused) co_return;
    co_await runtime::sleep(clock_, again_after);
  }
}

Task<void> Dispatcher::adopt() {
  store::AdoptOrder order{.limit = adopt_limit, .rest = Millis{rest_}, .holding = {}};
  for (const inbox::Destination& destination : seats_.front().plan()->config->destinations) {
    if (destination.on_unknown == inbox::OnSilence::hold) order.holding.push_back(destination.name);
    if (destination.on_unknown == inbox::OnSilence::probe) order.holding_replays.push_back(destination.name);
  }
  for (int round = 0; !inbox_.is_shared() || round < adopt_rounds; ++round) {
    const Result<std::size_t> adopted = co_await inbox_.adopt(order);
    if (adopted && *adopted == 0) co_return;
    if (!adopted && inbox_.is_shared()) co_return;
    if (!adopted) co_await runtime::sleep(clock_, again_after);
  }
}

// Of an inbox that others share: what they left, what they decided, and what waits since they put it there.
Task<void> Dispatcher::look_at_others() {
  const Time now = clock_.now();
  if (!inbox_.is_shared() || gates_.current().empty() || now < rounds_.looked_at_others + house_every) co_return;
  rounds_.looked_at_others = now;
  co_await adopt();
  co_await restore_pauses();
  co_await lead();
  for (const std::shared_ptr<DestinationGate>& gate : gates_.current()) gate->expect(now);
}

// Destinations that take one attempt at a time have one gateway that calls them.
Task<void> Dispatcher::lead() {
  store::LeadOrder order{.to = {}, .rest = Millis{rest_}};
  const std::vector<std::shared_ptr<DestinationGate>> gates = gates_.current();
  for (const std::shared_ptr<DestinationGate>& gate : gates) {
    const GateView view = gate->view();
    if (view.concurrency == 1) order.to.push_back(view.name);
  }
  if (order.to.empty() && !rounds_.leads) co_return;
  if (!rounds_.leads) counts_.under_way.fetch_add(1, std::memory_order_relaxed);  // the process waits for leave()
  rounds_.leads = true;
  const Result<std::vector<std::string>> granted = co_await inbox_.lead(std::move(order));
  if (!granted) co_return;  // what is begun is asked for by may_begin()
  for (const std::shared_ptr<DestinationGate>& gate : gates) {
    gate->lead(std::ranges::find(*granted, gate->view().name) != granted->end());
  }
}

// Others need not wait until this process counts as dead.
Task<void> Dispatcher::leave() {
  if (!rounds_.leads) co_return;
  while (under_way() > 1) co_await runtime::sleep(clock_, leave_look_every);
  store::LeadOrder nothing;
  static_cast<void>(co_await inbox_.lead(std::move(nothing)));  // if it is lost, they wait
  counts_.under_way.fetch_sub(1, std::memory_order_relaxed);
}

void Dispatcher::divide() {
  if (!inbox_.is_shared()) return;
  const store::DeliveryShare share = inbox_.share();
  gates_.divide({.of = share.of, .at = share.at});
}

Task<void> Dispatcher::restore_pauses() {
  const Result<std::vector<store::DestinationControl>> controls = co_await desk_.controls();
  if (!controls) co_return;
  for (const store::DestinationControl& control : *controls) {
    if (control.paused) pause(control.to, control.until, control.reason);
    if (!control.paused && inbox_.is_shared()) resume(control.to);
  }
}

void Dispatcher::drain() {
  draining_ = true;
  wake();
}

void Dispatcher::wake() {
  if (counts_.waking.exchange(true)) return;
  boost::asio::post(seats_.front().executor, [this] {
    counts_.waking = false;
    if (rounds_.pause != nullptr) rounds_.pause->ring();
    if (draining_ && jobs_ != nullptr) jobs_->drain();
  });
}

void Dispatcher::expect(const std::string& to, Time at) {
  const std::shared_ptr<DestinationGate> gate = gates_.find(to);
  if (gate == nullptr) return;
  gate->expect(at);
  if (gate->look_in(clock_.now())) wake();  // else who makes room, or resumes it, wakes
}

void Dispatcher::pause(const std::string& to, std::optional<Time> until, const std::string& reason) {
  const std::shared_ptr<DestinationGate> gate = gates_.find(to);
  if (gate != nullptr) gate->pause(until, reason);
}

void Dispatcher::resume(const std::string& to) {
  const std::shared_ptr<DestinationGate> gate = gates_.find(to);
  if (gate == nullptr) return;
  gate->resume();
  wake();
}

}  // namespace semel::gateway
