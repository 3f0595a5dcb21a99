// Certificates and keys of webhook providers, fetched when a delivery wants one and kept for an hour. One per thread.
//
// Deliveries that nobody has verified yet cause fetches, so there are few: what is kept is not fetched again before a
// minute has passed, and there are at most thirty fetches a minute.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "webhook/fetched_keys.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {

class KeyCache {
 public:
  KeyCache(Clock& clock, Executor executor) : clock_(clock), executor_(std::move(executor)) {}

  // Valid until the next fetch().
  [[nodiscard]] std::optional<std::string_view> find(const std::string& name) const;

  // Whether there is a newer document now.
  Task<bool> fetch(webhook::Wanted wanted);

 private:
  struct Document {
    std::string text;
    Time fetched_at;
  };

  [[nodiscard]] bool may_fetch(const webhook::Wanted& wanted);

  Clock& clock_;
  Executor executor_;
  std::unordered_map<std::string, Document> documents_;
  Time minute_began_{};
  std::size_t fetched_this_minute_ = 0;
};

}  // namespace semel::gateway
