#include "cli/hammer/schedule.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "cli/hammer/client.h"
#include "cli/hammer/options.h"
#include "cli/hammer/verdict.h"

namespace semel::cli {

Schedule::Schedule(const HammerOptions& options, std::uint64_t seed)
    : options_(options), chance_(seed), held_(options.keys) {}

std::optional<Shot> Schedule::next(Nanos now) {
  if (waiting_.empty() || waiting_.top().due > now) return next_fresh(now);
  const Shot shot = waiting_.top();
  waiting_.pop();
  return shot;
}

std::optional<Shot> Schedule::next_fresh(Nanos now) {
  while (fresh_ < total() && fresh_due() <= now) {
    Shot shot{.key = static_cast<std::uint32_t>(fresh_ / options_.calls), .due = fresh_due()};
    const bool first = fresh_ % options_.calls == 0;
    ++fresh_;
    if (first || !by_chance(options_.wrong_percent)) return shot;
    shot.letter = Letter::other;
    if (held_[shot.key].confirmed) return shot;
    ++held_[shot.key].others;
  }
  return std::nullopt;
}

// When the next new request is due. Zero if as soon as there is a connection for it.
Schedule::Nanos Schedule::fresh_due() const {
  if (options_.rate == 0) return Nanos{0};
  return started_ + Nanos(std::chrono::seconds(1)) * static_cast<std::int64_t>(fresh_) / options_.rate;
}

std::optional<Schedule::Nanos> Schedule::next_due() const {
  std::optional<Nanos> due;
  if (!waiting_.empty()) due = waiting_.top().due;
  if (fresh_ < total()) due = due ? std::min(*due, fresh_due()) : fresh_due();
  return due;
}

void Schedule::again(Shot shot, Nanos due) {
  ++shot.tries;
  shot.due = due;
  waiting_.push(shot);
}

void Schedule::confirm(std::uint32_t key, Nanos now) {
  Held& held = held_[key];
  held.confirmed = true;
  for (; held.others > 0; --held.others) {
    waiting_.push({.key = key, .letter = Letter::other, .tries = 0, .due = now});
  }
}

Cut Schedule::draw_cut() {
  if (!by_chance(options_.cut_percent)) return Cut::nowhere;
  return by_chance(50) ? Cut::after_sending : Cut::while_reading;
}

}  // namespace semel::cli
