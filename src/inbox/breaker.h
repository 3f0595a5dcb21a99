// The breaker of a destination: when it fails, it is left alone and asked now and then, one event at a time.
//
//   closed ── too many failures ──▶ open ── its wait is over ──▶ one probe ──▶ closed, slowly: 1, 2, 4 … at once
//                                    ▲                              │
//                                    └────────── it failed ─────────┘   the next wait is longer, up to probe_max
//
// It holds the destination and nothing else: no attempt of an event is spent while it is open, and none is dropped.
// Only failures of the destination count (Health::failing), never its verdict on a single event. It keeps no clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "inbox/verdict.h"
#include <semel/clock.h>

namespace semel::inbox {

struct BreakerRules {
  Millis window{30'000};
  std::uint32_t failures_percent = 50;  // of the attempts in the window
  std::uint32_t attempts_min = 20;      // fewer say nothing
  std::uint32_t in_a_row = 10;          // so many failures open it in any case
  Millis probe_max{60'000};
};

class Breaker {
 public:
  static constexpr Millis probe_first{1'000};

  enum class State : std::uint8_t { closed, open, probing };

  explicit Breaker(const BreakerRules& rules) : rules_(rules) {}

  // How many attempts may run at once, at most `wanted`. 0 while it is open; 1 for the probe.
  [[nodiscard]] std::uint32_t allowed(std::uint32_t wanted, Time now) const;
  // An attempt begins: one that was allowed.
  void began(Time now);
  // `chance` is a random number in [0, 1), for the wait before the next probe.
  void ended(Health health, Time now, double chance);
  // An attempt that began was given back: nothing is known.
  void withdrew();

  [[nodiscard]] State state() const { return state_; }
  // While it is open: when the next probe may begin.
  [[nodiscard]] Time probe_at() const { return probe_at_; }

 private:
  static constexpr std::size_t slots = 10;
  struct Slot {
    std::int64_t number = -1;
    std::uint32_t attempts = 0;
    std::uint32_t failures = 0;
  };

  void open(Time now, double chance);
  Slot& slot_at(Time now);
  [[nodiscard]] bool failing_too_often(Time now) const;
  [[nodiscard]] std::int64_t number_at(Time now) const;

  BreakerRules rules_;
  State state_ = State::closed;
  std::array<Slot, slots> window_{};
  std::uint32_t row_ = 0;     // failures since the last success
  std::uint32_t probes_ = 0;  // that have failed since it opened
  Time probe_at_{};
  std::uint32_t ramp_ = UINT32_MAX;  // how many at once while it recovers
  std::uint32_t ramp_done_ = 0;      // successes since the ramp grew
};

}  // namespace semel::inbox
