// What all threads share of a webhook, over reloads: what an operator can count of it, beside what is counted of every
// route, and how much of its rate is used up.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/rate_limiter.h"
#include "policy/signatures.h"

namespace semel {

// Counters of one webhook; label is the path pattern of the configuration.
struct WebhookCounters {
  static constexpr std::size_t secrets_counted = 8;  // those behind are counted with the last

  WebhookCounters(std::string path, std::string sender) : label(std::move(path)), provider(std::move(sender)) {}
  std::string label;
  std::string provider;
  std::array<std::atomic<std::uint64_t>, signature_faults> by_fault{};
  std::array<std::atomic<std::uint64_t>, secrets_counted> by_secret{};  // which one matched: an old one can be retired
  std::atomic<std::uint64_t> handshakes{0};
  std::atomic<std::uint64_t> handshakes_refused{0};
  RateLimiter limiter;
};

class WebhookMetrics {
 public:
  // A webhook keeps its counters over reloads as long as its path and provider stay the same. The reference stays valid
  // for ever.
  WebhookCounters& webhook(std::string_view label, std::string_view provider);

  void render(std::string& out) const;

 private:
  mutable std::mutex mutex_;  // of the list, not of what is counted
  std::deque<WebhookCounters> webhooks_;
};

}  // namespace semel
