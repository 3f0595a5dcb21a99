// Asks a provider's own API about deliveries. One per thread.
//
// Only a delivery that has passed every check here gets this far, but somebody who has captured one can send it again,
// and perhaps with other bodies. So a webhook asks a number of times a minute, few times about one delivery, and few at
// once; and what was answered about the very same delivery is remembered for a while.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "gateway/budget.h"
#include "gateway/key_cache.h"
#include "webhook/inquiry.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {

class Inquiries {
 public:
  // `keys` keeps the tokens.
  Inquiries(Clock& clock, Executor executor, KeyCache& keys)
      : clock_(clock), executor_(std::move(executor)), keys_(keys), budget_(clock) {}

  // Whether the provider says that it sent the delivery. Null if nobody can say now. `webhook` pays for it.
  Task<std::optional<bool>> ask(webhook::Inquiry inquiry, std::string webhook);

 private:
  struct Heard {
    bool verdict = false;
    Time at;
  };

  Task<std::optional<bool>> ask_now(const webhook::Inquiry* inquiry, const std::string* webhook);
  Task<std::optional<std::string>> token_for(const webhook::Inquiry* inquiry, const std::string* webhook);
  Task<std::optional<std::string>> post(const webhook::Inquiry* inquiry, std::string token);
  void remember(std::string question, bool verdict);

  Clock& clock_;
  Executor executor_;
  KeyCache& keys_;
  Budget budget_;
  std::unordered_map<std::string, std::size_t> under_way_;  // by webhook
  std::unordered_map<std::string, Heard> heard_;            // by the hash of the question
};

// All that a thread fetches for its webhooks.
struct Fetching {
  Fetching(Clock& clock, const Executor& executor) : keys(clock, executor), inquiries(clock, executor, keys) {}

  KeyCache keys;
  Inquiries inquiries;
};

}  // namespace semel::gateway
