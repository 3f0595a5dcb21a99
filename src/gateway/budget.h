// How often something was done in this minute, by account.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include <semel/clock.h>

namespace semel::gateway {

// How often an account may pay in a minute.
struct Share {
  std::string account;
  std::size_t limit = 0;
};

class Budget {
 public:
  explicit Budget(Clock& clock) : clock_(clock) {}

  // Counts one more for `whole` and for `part`, unless either has had its limit: then for neither. So a part that
  // strangers name is remembered only if the whole has paid for it. An account's minute begins with its first.
  [[nodiscard]] bool pay(const Share& whole, const Share& part) {
    constexpr Millis minute{60'000};
    const Time now = clock_.now();
    std::erase_if(spent_, [&](const auto& each) { return now >= each.second.since + minute; });
    if (!has_left(whole) || !has_left(part)) return false;
    for (const Share* each : {&whole, &part})
      ++spent_.try_emplace(each->account, Spent{.since = now}).first->second.times;
    return true;
  }

  [[nodiscard]] std::size_t size() const { return spent_.size(); }

 private:
  struct Spent {
    Time since;
    std::size_t times = 0;
  };

  [[nodiscard]] bool has_left(const Share& share) const {
    const auto found = spent_.find(share.account);
    return found == spent_.end() || found->second.times < share.limit;
  }

  Clock& clock_;
  std::unordered_map<std::string, Spent> spent_;
};

}  // namespace semel::gateway
