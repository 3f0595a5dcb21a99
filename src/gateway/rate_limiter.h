// How many deliveries an endpoint takes: from everybody together, and from each address. Shared by all threads.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

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

}  // namespace semel::gateway
