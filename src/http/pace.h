// How slowly a peer may send or take, on average.
//
// A peer starts with an advance: as many bytes as it would move in `grace` at the slowest rate allowed. Waiting for the
// peer uses the advance up; bytes that it moves earn it back, up to where it started. So a peer that keeps up may pause
// for `grace`, and a peer that moves a byte now and then is ended at some time. Without a rate each wait may take
// `grace`. Pure.
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

  // How long the next wait for the peer may take.
  [[nodiscard]] Millis left() const { return rate_ == 0 ? grace_ : Millis{static_cast<Millis::rep>(advance_ / rate_)}; }
  // A wait has ended: it took `waited`, and `bytes` were moved.
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
