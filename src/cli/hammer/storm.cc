// See storm.h. pump() is the heart: everything that happens ends with a call of it.
#include "cli/hammer/storm.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "cli/hammer/client.h"
#include "cli/hammer/options.h"
#include "cli/hammer/verdict.h"
#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::cli {
namespace {

namespace asio = boost::asio;
using Nanos = std::chrono::nanoseconds;

constexpr Millis back_off_first{20};  // doubled with each try
constexpr Millis back_off_max{1'000};
constexpr std::uint32_t doublings_max = 6;
constexpr Millis retry_after_max{2'000};
constexpr std::uint16_t too_many = 429;  // says nothing about the key

Nanos back_off(std::uint32_t tries) {
  return std::min(back_off_max, back_off_first * (1 << std::min(tries, doublings_max)));
}

}  // namespace

Storm::Storm(const HammerOptions& options, std::shared_ptr<HammerClient> client, Clock& clock, Executor executor,
             std::uint64_t seed)
    : options_(options),
      client_(std::move(client)),
      clock_(clock),
      executor_(std::move(executor)),
      chance_(seed),
      tally_(options.keys, options.calls),
      held_(options.keys),
      over_(std::make_shared<runtime::Pause>(clock)) {}

Task<void> Storm::run() {
  started_ = progress_at_ = clock_.stopwatch();
  running_ = true;
  pump();
  co_await over_->wait(options_.time_limit);
  running_ = false;
  alarm_.reset();
}

void Storm::stop() {
  over_->ring();
}

// Sends what can be sent now, and sees to being called again when there is more to send.
void Storm::pump() {
  if (!running_) return;
  if (tally_.all_ended()) {
    over_->ring();
    return;
  }
  const Nanos now = clock_.stopwatch();
  while (flying_ < options_.connections) {
    const std::optional<Shot> shot = next(now);
    if (!shot) break;
    ++flying_;
    asio::co_spawn(executor_, fly(shared_from_this(), *shot), asio::detached);
  }
  if (flying_ < options_.connections) wake_when_due(now);
}

std::optional<Storm::Shot> Storm::next(Nanos now) {
  if (waiting_.empty() || waiting_.top().due > now) return next_fresh(now);
  const Shot shot = waiting_.top();
  waiting_.pop();
  return shot;
}

std::optional<Storm::Shot> Storm::next_fresh(Nanos now) {
  const std::uint64_t total = std::uint64_t{options_.keys} * options_.calls;
  while (fresh_ < total && due(fresh_) <= now) {
    const std::uint64_t index = fresh_++;
    const auto key = static_cast<std::uint32_t>(index / options_.calls);
    Shot shot{.key = key, .due = due(index)};
    if (index % options_.calls != 0 && by_chance(options_.wrong_percent)) {
      shot.letter = Letter::other;
      if (!held_[key].confirmed) {
        ++held_[key].others;
        continue;
      }
    }
    return shot;
  }
  return std::nullopt;
}

// When a request is to be sent for the first time. Zero: as soon as there is a connection for it.
Nanos Storm::due(std::uint64_t index) const {
  if (options_.rate == 0) return Nanos{0};
  return started_ + Nanos(std::chrono::seconds(1)) * static_cast<std::int64_t>(index) / options_.rate;
}

void Storm::wake_when_due(Nanos now) {
  Nanos at = Nanos::max();
  if (!waiting_.empty()) at = waiting_.top().due;
  if (fresh_ < std::uint64_t{options_.keys} * options_.calls) at = std::min(at, due(fresh_));
  if (at == Nanos::max() || (alarm_ && alarm_at_ <= at)) return;
  alarm_at_ = at;
  alarm_ = clock_.after(executor_, std::chrono::ceil<Millis>(std::max(at - now, Nanos{0})), [this] {
    alarm_.reset();
    pump();
  });
}

Cut Storm::draw_cut() {
  if (!by_chance(options_.cut_percent)) return Cut::nowhere;
  return by_chance(50) ? Cut::after_sending : Cut::while_reading;
}

Task<void> Storm::fly(std::shared_ptr<Storm> self, Shot shot) {
  // At a given rate the clock starts when the request was due: a server that holds us up must not look quick.
  const Nanos from = self->options_.rate != 0 ? shot.due : self->clock_.stopwatch();
  const Cut cut = self->draw_cut();
  const Landed landed = co_await self->client_->send(shot.key, shot.letter, cut);
  --self->flying_;
  if (landed.flight == Flight::answered) self->latencies_.add(self->clock_.stopwatch() - from);
  self->settle(shot, landed);
  self->pump();
}

void Storm::settle(Shot shot, const Landed& landed) {
  if (!running_) return;
  if (landed.flight == Flight::cut) {
    tally_.cut();
    again(shot, back_off_first);
    return;
  }
  if (landed.flight == Flight::lost) {
    tally_.lost();
    again(shot, back_off(shot.tries));
    return;
  }
  const Meaning meaning = tally_.answered(shot.key, shot.letter, landed.seen);
  if (shot.letter == Letter::same && landed.seen.status != too_many) confirm(shot.key);
  if (meaning != Meaning::again) {
    progress_at_ = clock_.stopwatch();
    return;
  }
  const Nanos asked = landed.retry_after ? Nanos(std::min(*landed.retry_after, retry_after_max)) : Nanos{0};
  again(shot, std::max(asked, back_off(shot.tries)));
}

void Storm::again(Shot shot, Nanos delay) {
  ++shot.tries;
  shot.due = clock_.stopwatch() + delay;
  waiting_.push(shot);
}

void Storm::confirm(std::uint32_t key) {
  Held& held = held_[key];
  held.confirmed = true;
  for (; held.others > 0; --held.others) {
    waiting_.push({.key = key, .letter = Letter::other, .tries = 0, .due = clock_.stopwatch()});
  }
}

}  // namespace semel::cli
