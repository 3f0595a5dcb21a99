// Every member takes the mutex for a few instructions; nothing is waited for under it.
#include "gateway/destination_gate.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "inbox/breaker.h"
#include "inbox/destination.h"
#include "inbox/verdict.h"
#include "reading/units.h"
#include <semel/clock.h>

namespace semel::gateway {
namespace {

// The parts of all gateways are together the whole.
std::uint32_t part_of(std::uint32_t whole, const GateShare& share) {
  if (share.of == 0 || share.at >= share.of) return 0;
  return whole / share.of + (share.at < whole % share.of ? 1 : 0);
}

}  // namespace

DestinationGate::DestinationGate(const inbox::Destination& rules)
    : name_(rules.name), breaker_(rules.breaker), due_(Time{}) {
  configure(rules);
}

void DestinationGate::configure(const inbox::Destination& rules) {
  const std::scoped_lock lock(mutex_);
  limits_.concurrency = rules.concurrency;
  limits_.replay_share = rules.replay_share_percent;
  limits_.rate = rules.rate;
}

void DestinationGate::divide(GateShare share) {
  const std::scoped_lock lock(mutex_);
  limits_.share = share;
}

void DestinationGate::lead(bool leads) {
  const std::scoped_lock lock(mutex_);
  limits_.leads = leads;
}

// One attempt at a time cannot be divided: the gateway that leads has it.
std::uint32_t DestinationGate::concurrency() const {
  if (limits_.concurrency == 1) return limits_.leads ? 1 : 0;
  return part_of(limits_.concurrency, limits_.share);
}

std::optional<reading::Rate> DestinationGate::rate() const {
  if (!limits_.rate || limits_.concurrency == 1) return limits_.rate;
  return reading::Rate{.count = part_of(limits_.rate->count, limits_.share), .per = limits_.rate->per};
}

bool DestinationGate::held(Time now) const {
  return paused_ && (!paused_->until || now < *paused_->until);
}

std::size_t DestinationGate::enter(std::size_t wanted, Time now) {
  const std::scoped_lock lock(mutex_);
  rate_allows_ = {};
  if (held(now)) return 0;
  const std::optional<reading::Rate> rate = this->rate();
  if (rate && rate->count == 0) return 0;  // others have it all
  const std::uint32_t allowed = breaker_.allowed(concurrency(), now);
  std::size_t entered = 0;
  while (entered < wanted && running_ < allowed) {
    const std::optional<Millis> wait = rate ? bucket_.take(*rate, now) : std::nullopt;
    if (wait) {
      rate_allows_ = now + *wait;
      break;
    }
    ++running_;
    ++entered;
    breaker_.began(now);
  }
  return entered;
}

void DestinationGate::withdraw(std::size_t slots) {
  const std::scoped_lock lock(mutex_);
  if (slots == 0) return;
  running_ -= static_cast<std::uint32_t>(std::min<std::size_t>(slots, running_));
  breaker_.withdrew();
  bucket_.give_back(static_cast<double>(slots));
  rate_allows_ = {};
}

// The breaker is not told: those were allowed when they began.
void DestinationGate::exceed(std::size_t slots) {
  const std::scoped_lock lock(mutex_);
  running_ += static_cast<std::uint32_t>(slots);
  bucket_.owe(static_cast<double>(slots));
}

void DestinationGate::leave(inbox::Health health, Time now, double chance) {
  const std::scoped_lock lock(mutex_);
  if (running_ > 0) --running_;
  breaker_.ended(health, now, chance);
}

void DestinationGate::pause(std::optional<Time> until, std::string reason) {
  const std::scoped_lock lock(mutex_);
  paused_ = Stop{.until = until, .reason = std::move(reason)};
}

void DestinationGate::resume() {
  const std::scoped_lock lock(mutex_);
  paused_.reset();
}

void DestinationGate::expect(Time at) {
  const std::scoped_lock lock(mutex_);
  due_ = due_ ? std::min(*due_, at) : at;
}

void DestinationGate::looked(std::optional<Time> next) {
  const std::scoped_lock lock(mutex_);
  due_ = next;
}

std::optional<Millis> DestinationGate::look_in(Time now) {
  const std::scoped_lock lock(mutex_);
  if (!due_) return std::nullopt;
  Time at = std::max({*due_, now, rate_allows_});
  if (paused_ && held(now)) {
    const std::optional<Time>& until = paused_->until;
    if (!until) return std::nullopt;
    at = std::max(at, *until);
  }
  if (breaker_.state() == inbox::Breaker::State::open) at = std::max(at, breaker_.probe_at());
  const std::optional<reading::Rate> rate = this->rate();
  if (rate && rate->count == 0) return std::nullopt;
  if (running_ >= breaker_.allowed(concurrency(), at)) return std::nullopt;  // the next that leaves looks
  return at - now;
}

GateView DestinationGate::view() const {
  const std::scoped_lock lock(mutex_);
  GateView view;
  view.name = name_;
  view.running = running_;
  view.concurrency = limits_.concurrency;
  view.rate = limits_.rate;
  view.paused = paused_.has_value();
  if (paused_) view.paused_until = paused_->until;
  if (paused_) view.paused_for = paused_->reason;
  view.breaker = breaker_.state();
  view.probe_at = breaker_.probe_at();
  return view;
}

std::size_t DestinationGate::replays_max() const {
  const std::scoped_lock lock(mutex_);
  const std::size_t share = std::max<std::size_t>(1, std::size_t{concurrency()} * limits_.replay_share / 100);
  return share - std::min<std::size_t>(share, replaying_);
}

void DestinationGate::began_replay() {
  const std::scoped_lock lock(mutex_);
  ++replaying_;
}

// Others may wait for its place: while none was free they were not looked for.
void DestinationGate::ended_replay(Time now) {
  const std::scoped_lock lock(mutex_);
  if (replaying_ > 0) --replaying_;
  due_ = due_ ? std::min(*due_, now) : now;
}

void DestinationGates::configure(const std::vector<inbox::Destination>& destinations) {
  const std::scoped_lock lock(mutex_);
  current_.clear();
  for (const inbox::Destination& destination : destinations) {
    std::shared_ptr<DestinationGate>& gate = gates_[destination.name];
    if (gate == nullptr) {
      gate = std::make_shared<DestinationGate>(destination);
      gate->divide(share_);
      gate->lead(alone_);
    } else {
      gate->configure(destination);
    }
    current_.push_back(gate);
  }
}

void DestinationGates::divide(GateShare share) {
  const std::scoped_lock lock(mutex_);
  share_ = share;
  for (const auto& [name, gate] : gates_) gate->divide(share);
}

void DestinationGates::be_one_of_several() {
  const std::scoped_lock lock(mutex_);
  alone_ = false;
  share_ = {.of = 1, .at = 1};
}

std::shared_ptr<DestinationGate> DestinationGates::find(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = gates_.find(name);
  return found == gates_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<DestinationGate>> DestinationGates::current() const {
  const std::scoped_lock lock(mutex_);
  return current_;
}

}  // namespace semel::gateway
