// What an operator can count of each webhook, beside what is counted of every route.
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

#include "telemetry/awaited_events.h"
#include "telemetry/histogram.h"
#include "telemetry/inbox_metrics.h"
#include "telemetry/strangers.h"
#include "webhook/signatures.h"

namespace semel::telemetry {

// How a delivery ended for its event.
enum class EventEnd : std::uint8_t {
  handled,       // the handler did its work, and the answer is kept
  failed,        // the handler said no, or was not reached; the event comes again
  unknown,       // the handler's answer was lost
  duplicate,     // acknowledged without the handler: it has been handled
  in_flight,     // told to come again: it, or another event of its object, is being handled
  out_of_order,  // acknowledged without the handler: a newer event of its object has been handled
};
inline constexpr std::size_t event_ends = 6;

// Counters of one webhook; label is the path pattern of the configuration.
struct WebhookCounters {
  static constexpr std::size_t secrets_counted = 8;  // the ones after are counted with the last

  WebhookCounters(std::string path, std::string sender) : label(std::move(path)), provider(std::move(sender)) {}
  std::string label;
  std::string provider;
  std::array<std::atomic<std::uint64_t>, webhook::signature_faults> by_fault{};
  std::array<std::atomic<std::uint64_t>, secrets_counted> by_secret{};  // which one matched: an old one can be retired
  std::atomic<std::uint64_t> handshakes{0};
  std::atomic<std::uint64_t> handshakes_refused{0};
  std::array<std::atomic<std::uint64_t>, event_ends> by_end{};
  std::atomic<std::uint64_t> unplaced{0};  // ordered = true, but the event does not tell its order
  Histogram handler_seconds;
  Histogram attempts{count_bounds};  // by event, counted when it has been handled

  // What operators see and Prometheus does not: it would need a line for each address, or each event.
  struct Senders {
    std::array<std::atomic<std::int64_t>, secrets_counted> matched_at{};  // milliseconds since 1970; 0: never
    Strangers strangers;
    AwaitedEvents awaited;
  };
  Senders senders;
};

class WebhookMetrics {
 public:
  // A webhook keeps its counters over reloads as long as its path and provider stay the same. The reference is valid as
  // long as this.
  WebhookCounters& webhook(std::string_view label, std::string_view provider);

  InboxMetrics inbox;  // of all webhooks that have one

  void render(std::string& out) const;

 private:
  void render_events(std::string& out) const;

  mutable std::mutex mutex_;  // of the list, not of what is counted
  std::deque<WebhookCounters> webhooks_;
};

}  // namespace semel::telemetry
