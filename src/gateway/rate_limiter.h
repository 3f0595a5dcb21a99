// How many deliveries an endpoint takes: from everybody together, and from each address. Shared by all threads.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "config/config.h"
#include "policy/token_bucket.h"
#include <semel/clock.h>

namespace semel::gateway {

class RateLimiter {
 public:
  // Nothing: go on. Otherwise how long to wait.
  std::optional<Millis> take(const webhook::Webhook& webhook, std::string_view address, Time now);

 private:
  void make_room(const reading::Rate& rate, Time now);

  std::mutex mutex_;
  policy::TokenBucket all_;
  std::unordered_map<std::string, policy::TokenBucket> by_address_;
};

// The limiters of all webhooks. One stays as it is over reloads as long as its path and provider stay the same.
class RateLimiters {
 public:
  // The reference stays valid as long as this.
  RateLimiter& of(std::string_view path, std::string_view provider);

 private:
  std::mutex mutex_;  // of the list, not of what is in it
  std::map<std::pair<std::string, std::string>, RateLimiter> limiters_;
};

}  // namespace semel::gateway
