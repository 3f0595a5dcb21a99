// A token bucket: a rate over time, with bursts up to what the rate gives in one of its periods.
#pragma once

#include <algorithm>
#include <optional>

#include "reading/units.h"
#include <semel/clock.h>

namespace semel::policy {

class TokenBucket {
 public:
  // Takes a token, or `count` of them. Null if there was one; otherwise the time until there is one. Who takes more
  // than there are leaves a debt, for which the next one waits.
  std::optional<Millis> take(const reading::Rate& rate, Time now, double count = 1) {
    const double capacity = rate.count;
    const double per_milli = capacity / static_cast<double>(rate.per.count());
    const auto elapsed = static_cast<double>(std::max((now - at_).count(), Millis::rep{0}));
    tokens_ = fresh_ ? capacity : std::min(capacity, tokens_ + elapsed * per_milli);
    fresh_ = false;
    at_ = now;
    if (tokens_ < 1) return Millis{static_cast<Millis::rep>((1 - tokens_) / per_milli) + 1};
    tokens_ -= count;
    return std::nullopt;
  }

  // Tokens that were taken and not used.
  void give_back(double count) { tokens_ += count; }
  // Tokens that were used and not taken: a debt, for which the next one waits.
  void owe(double count) { tokens_ -= count; }

  // Whether it would be full by now, as if it had never been used.
  [[nodiscard]] bool is_full(const reading::Rate& rate, Time now) const { return now >= at_ + rate.per; }

 private:
  double tokens_ = 0;
  Time at_{};
  bool fresh_ = true;
};

}  // namespace semel::policy
