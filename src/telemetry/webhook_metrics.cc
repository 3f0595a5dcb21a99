// Names and help texts are an interface, as in metrics.cc.
#include "telemetry/webhook_metrics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "telemetry/exposition.h"
#include "webhook/signatures.h"

namespace semel::telemetry {
namespace {

std::string labels_of(const WebhookCounters& webhook) {
  return fmt::format(R"(route="{}",provider="{}")", label_text(webhook.label), label_text(webhook.provider));
}

}  // namespace

WebhookCounters& WebhookMetrics::webhook(std::string_view label, std::string_view provider) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(webhooks_, [&](const WebhookCounters& webhook) {
    return webhook.label == label && webhook.provider == provider;
  });
  return found != webhooks_.end() ? *found : webhooks_.emplace_back(std::string(label), std::string(provider));
}

void WebhookMetrics::render(std::string& out) const {
  const std::scoped_lock lock(mutex_);
  if (webhooks_.empty()) return;
  const auto line = std::back_inserter(out);
  heading(out, "semel_webhook_signature_failures_total", "counter",
          "Deliveries that were not believed, by provider and reason.");
  for (const WebhookCounters& webhook : webhooks_) {
    for (std::size_t i = 0; i < webhook::signature_faults; ++i) {
      fmt::format_to(line, "semel_webhook_signature_failures_total{{{},reason=\"{}\"}} {}\n", labels_of(webhook),
                     webhook::name(static_cast<webhook::SignatureFault>(i)),
                     webhook.by_fault.at(i).load(std::memory_order_relaxed));
    }
  }
  heading(out, "semel_webhook_deliveries_total", "counter",
          "Authentic deliveries, by the number of the secret that matched.");
  for (const WebhookCounters& webhook : webhooks_) {
    for (std::size_t i = 0; i < webhook.by_secret.size(); ++i) {
      const auto count = webhook.by_secret.at(i).load(std::memory_order_relaxed);
      if (count == 0 && i > 0) continue;
      fmt::format_to(line, "semel_webhook_deliveries_total{{{},secret=\"{}\"}} {}\n", labels_of(webhook), i + 1, count);
    }
  }
  heading(out, "semel_webhook_handshakes_total", "counter", "Handshakes, answered and refused.");
  for (const WebhookCounters& webhook : webhooks_) {
    const auto row = [&](std::string_view outcome, const std::atomic<std::uint64_t>& count) {
      fmt::format_to(line, "semel_webhook_handshakes_total{{{},outcome=\"{}\"}} {}\n", labels_of(webhook), outcome,
                     count.load(std::memory_order_relaxed));
    };
    row("answered", webhook.handshakes);
    row("refused", webhook.handshakes_refused);
  }
  render_events(out);
}

void WebhookMetrics::render_events(std::string& out) const {
  constexpr std::array<std::string_view, event_ends> names{"handled",   "failed",    "unknown",
                                                           "duplicate", "in_flight", "out_of_order"};
  const auto line = std::back_inserter(out);
  heading(out, "semel_webhook_events_total", "counter", "Deliveries by what became of their event.");
  for (const WebhookCounters& webhook : webhooks_) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      fmt::format_to(line, "semel_webhook_events_total{{{},outcome=\"{}\"}} {}\n", labels_of(webhook), names.at(i),
                     webhook.by_end.at(i).load(std::memory_order_relaxed));
    }
  }
  heading(out, "semel_webhook_unplaced_total", "counter",
          "Events of an ordered webhook that say nothing of their order.");
  for (const WebhookCounters& webhook : webhooks_) {
    fmt::format_to(line, "semel_webhook_unplaced_total{{{}}} {}\n", labels_of(webhook),
                   webhook.unplaced.load(std::memory_order_relaxed));
  }
  heading(out, "semel_webhook_handler_seconds", "histogram", "How long the handler took.");
  for (const WebhookCounters& webhook : webhooks_) {
    webhook.handler_seconds.render(out, "semel_webhook_handler_seconds", labels_of(webhook));
  }
  heading(out, "semel_webhook_attempts", "histogram", "How many attempts an event took until it was handled.");
  for (const WebhookCounters& webhook : webhooks_) {
    webhook.attempts.render(out, "semel_webhook_attempts", labels_of(webhook));
  }
}

}  // namespace semel::telemetry
