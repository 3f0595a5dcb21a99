// How often something was done in this minute, by account.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include <semel/clock.h>

namespace semel::gateway {

class Budget {
 public:
  explicit Budget(Clock& clock) : clock_(clock) {}

  // Counts one more, unless there have been `limit` already. An account's minute begins with its first.
  [[nodiscard]] bool pay(const std::string& account, std::size_t limit) {
    constexpr Millis minute{60'000};
    const Time now = clock_.now();
    std::erase_if(spent_, [&](const auto& each) { return now >= each.second.since + minute; });
    Spent& spent = spent_.try_emplace(account, Spent{.since = now}).first->second;
    if (spent.times >= limit) return false;
    ++spent.times;
    return true;
  }

 private:
  struct Spent {
    Time since;
    std::size_t times = 0;
  };

  Clock& clock_;
  std::unordered_map<std::string, Spent> spent_;
};

}  // namespace semel::gateway
