// How many keys are of unknown outcome now, and how old the oldest is: for /metrics.
//
// Nothing is counted that a bounded list would not show (store/desk.h): at most as many as one look finds. The look is
// repeated no more often than every ten seconds, whoever asks, and nobody waits for it: the figures are those of the
// look before. Used by one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "store/desk.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::admin {

class DoubtCount : public std::enable_shared_from_this<DoubtCount> {
 public:
  static constexpr Millis kept_for{10'000};

  explicit DoubtCount(store::Desk& desk) : desk_(desk) {}

  // In the format of Prometheus. Empty before the first look has ended, and if the store did not answer the last one:
  // no figure is better than an old one. A new look is begun on `executor` if it is time.
  const std::string& text(Time now, const Executor& executor);

 private:
  static Task<void> look(std::shared_ptr<DoubtCount> self);

  store::Desk& desk_;
  std::string text_;
  std::optional<Time> looked_at_;
};

}  // namespace semel::admin
