// See storm.h. pump() is the heart: every event ends with a call of it.
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
#include "cli/hammer/schedule.h"
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
      tally_(options.keys, options.calls),
      schedule_(options, seed),
      over_(std::make_shared<runtime::Pause>(clock)) {}

Task<void> Storm::run() {
  progress_at_ = clock_.stopwatch();
  schedule_.start(progress_at_);
  running_ = true;
  pump();
  co_await over_->wait(options_.time_limit);
  running_ = false;
  wake_.alarm.reset();
}

void Storm::stop() {
  over_->ring();
}

// Sends what can be sent now, and arranges to be called again when there is more to send.
void Storm::pump() {
  if (!running_) return;
  if (tally_.all_ended()) {
    over_->ring();
    return;
  }
  const Nanos now = clock_.stopwatch();
  while (flying_ < options_.connections) {
    const std::optional<Shot> shot = schedule_.next(now);
    if (!shot) break;
    ++flying_;
    asio::co_spawn(executor_, fly(shared_from_this(), *shot), asio::detached);
  }
  if (flying_ < options_.connections) wake_when_due(now);
}

void Storm::wake_when_due(Nanos now) {
  const std::optional<Nanos> at = schedule_.next_due();
  if (!at || (wake_.alarm && wake_.at <= *at)) return;
  wake_.at = *at;
  wake_.alarm = clock_.after(executor_, std::chrono::ceil<Millis>(std::max(*at - now, Nanos{0})), [this] {
    wake_.alarm.reset();
    pump();
  });
}

Task<void> Storm::fly(std::shared_ptr<Storm> self, Shot shot) {
  // At a given rate the clock starts when the request was due: a server that delays us must not look quick.
  const Nanos from = self->options_.rate != 0 ? shot.due : self->clock_.stopwatch();
  const Cut cut = self->schedule_.draw_cut();
  const Landed landed = co_await self->client_->send(shot.key, shot.letter, cut);
  --self->flying_;
  if (landed.flight == Flight::answered) self->latencies_.add(self->clock_.stopwatch() - from);
  self->settle(shot, landed);
  self->pump();
}

void Storm::settle(const Shot& shot, const Landed& landed) {
  if (!running_) return;
  const Nanos now = clock_.stopwatch();
  if (landed.flight == Flight::cut) {
    tally_.cut();
    schedule_.again(shot, now + back_off_first);
    return;
  }
  if (landed.flight == Flight::lost) {
    tally_.lost();
    schedule_.again(shot, now + back_off(shot.tries));
    return;
  }
  const Meaning meaning = tally_.answered(shot.key, shot.letter, landed.seen);
  if (shot.letter == Letter::same && landed.seen.status != too_many) schedule_.confirm(shot.key, now);
  if (meaning != Meaning::again) {
    progress_at_ = now;
    return;
  }
  const Nanos asked = landed.retry_after ? Nanos(std::min(*landed.retry_after, retry_after_max)) : Nanos{0};
  schedule_.again(shot, now + std::max(asked, back_off(shot.tries)));
}

}  // namespace semel::cli
