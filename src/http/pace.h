// How slowly a peer may send or take, on average.
//
// A peer starts with an advance: what it would move in `grace` at the slowest rate allowed. Waiting for it uses the
// advance up, what it moves earns it back, never beyond the start. So a peer that keeps up may pause for `grace`, and
// one that moves a byte now and then may not go on for ever. Without a rate only `grace` counts, anew each time. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <semel/clock.h>

namespace semel::http {

class Pace {
 public:
  Pace(Millis grace, std::uint64_t bytes_per_second)
      : grace_(grace),
        rate_(bytes_per_second),
        advance_max_(static_cast<std::uint64_t>(grace.count()) * rate_),
        advance_(advance_max_) {}

  // For how long it may be waited for now.
  [[nodiscard]] Millis left() const { return rate_ == 0 ? grace_ : Millis{static_cast<Millis::rep>(advance_ / rate_)}; }
  void moved(std::size_t bytes, Millis waited) {
    const std::uint64_t used = static_cast<std::uint64_t>(waited.count()) * rate_;
    advance_ -= std::min(advance_, used);
    advance_ = std::min(advance_max_, advance_ + std::uint64_t{bytes} * 1'000);
  }

 private:
  Millis grace_;
  std::uint64_t rate_;
  std::uint64_t advance_max_;  // in thousandths of a byte
  std::uint64_t advance_;
};

}  // namespace semel::http
