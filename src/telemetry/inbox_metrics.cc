// Names and help texts are an interface, as in metrics.cc.
#include "telemetry/inbox_metrics.h"

#include <atomic>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "telemetry/exposition.h"

namespace semel::telemetry {

void InboxMetrics::show(Snapshot snapshot) {
  const std::scoped_lock lock(mutex_);
  snapshot_ = std::move(snapshot);
  shown_ = true;
}

void InboxMetrics::render(std::string& out) const {
  const std::scoped_lock lock(mutex_);
  if (!shown_) return;
  heading(out, "semel_inbox_deliveries", "gauge",
          "Deliveries by source, destination and state; those that have ended are counted since the inbox was made.");
  for (const StateCount& each : snapshot_.states) {
    fmt::format_to(std::back_inserter(out),
                   "semel_inbox_deliveries{{source=\"{}\",destination=\"{}\",state=\"{}\"}} {}\n",
                   label_text(each.source), label_text(each.destination), each.state, each.count);
  }
  heading(out, "semel_inbox_oldest_seconds", "gauge",
          "How long ago the oldest event was accepted, or sent again, that had to wait and has not ended; 0 if none.");
  for (const Age& each : snapshot_.oldest) {
    fmt::format_to(std::back_inserter(out), "semel_inbox_oldest_seconds{{source=\"{}\",destination=\"{}\"}} {:.3f}\n",
                   label_text(each.source), label_text(each.destination), each.seconds);
  }
  heading(out, "semel_inbox_accepted_total", "counter", "Deliveries that were accepted, since the inbox was made.");
  sample(out, "semel_inbox_accepted_total", snapshot_.accepted);
  heading(out, "semel_inbox_unaccounted", "gauge",
          "Deliveries that were accepted and are in no state. It is 0; anything else is a loss.");
  sample(out, "semel_inbox_unaccounted", snapshot_.unaccounted);
  heading(out, "semel_inbox_bytes", "gauge", "Bytes of bodies that are kept.");
  sample(out, "semel_inbox_bytes", snapshot_.bytes);
  heading(out, "semel_inbox_breakers_open", "gauge", "Destinations that are left alone because they fail.");
  sample(out, "semel_inbox_breakers_open", snapshot_.breakers_open);
  heading(out, "semel_inbox_paused", "gauge", "Destinations that are paused.");
  sample(out, "semel_inbox_paused", snapshot_.paused);
  heading(out, "semel_inbox_attempts_total", "counter", "Attempts at destinations that have ended.");
  sample(out, "semel_inbox_attempts_total", attempts.load(std::memory_order_relaxed));
  heading(out, "semel_inbox_failures_total", "counter", "Attempts after which the event is tried again, or dead.");
  sample(out, "semel_inbox_failures_total", failures.load(std::memory_order_relaxed));
  heading(out, "semel_inbox_refused_total", "counter",
          "Events that were not accepted (503), because the inbox was full or its store did not work.");
  sample(out, "semel_inbox_refused_total", refused.load(std::memory_order_relaxed));
  heading(out, "semel_inbox_unreadable_total", "counter",
          "Events and queues of the inbox that could not be read. The log names each; others go on without them.");
  sample(out, "semel_inbox_unreadable_total", unreadable.load(std::memory_order_relaxed));
}

}  // namespace semel::telemetry
