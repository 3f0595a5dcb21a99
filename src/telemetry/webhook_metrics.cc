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

#include "webhook/signatures.h"

namespace semel::telemetry {
namespace {

std::string labels_of(const WebhookCounters& webhook) {
  return fmt::format("route=\"{}\",provider=\"{}\"", webhook.label, webhook.provider);
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
  out.append(
      "# HELP semel_webhook_signature_failures_total Deliveries that were not believed, by provider and reason.\n"
      "# TYPE semel_webhook_signature_failures_total counter\n");
  for (const WebhookCounters& webhook : webhooks_) {
    for (std::size_t i = 0; i < webhook::signature_faults; ++i) {
      fmt::format_to(line, "semel_webhook_signature_failures_total{{route=\"{}\",provider=\"{}\",reason=\"{}\"}} {}\n",
                     webhook.label, webhook.provider, webhook::name(static_cast<webhook::SignatureFault>(i)),
                     webhook.by_fault.at(i).load(std::memory_order_relaxed));
    }
  }
  out.append(
      "# HELP semel_webhook_deliveries_total Authentic deliveries, by the number of the secret that matched.\n"
      "# TYPE semel_webhook_deliveries_total counter\n");
  for (const WebhookCounters& webhook : webhooks_) {
    for (std::size_t i = 0; i < webhook.by_secret.size(); ++i) {
      const auto count = webhook.by_secret.at(i).load(std::memory_order_relaxed);
      if (count == 0 && i > 0) continue;
      fmt::format_to(line, "semel_webhook_deliveries_total{{route=\"{}\",provider=\"{}\",secret=\"{}\"}} {}\n",
                     webhook.label, webhook.provider, i + 1, count);
    }
  }
  out.append(
      "# HELP semel_webhook_handshakes_total Handshakes, answered and refused.\n"
      "# TYPE semel_webhook_handshakes_total counter\n");
  for (const WebhookCounters& webhook : webhooks_) {
    const auto row = [&](std::string_view outcome, const std::atomic<std::uint64_t>& count) {
      fmt::format_to(line, "semel_webhook_handshakes_total{{route=\"{}\",provider=\"{}\",outcome=\"{}\"}} {}\n",
                     webhook.label, webhook.provider, outcome, count.load(std::memory_order_relaxed));
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
  out.append(
      "# HELP semel_webhook_events_total Deliveries by what became of their event.\n"
      "# TYPE semel_webhook_events_total counter\n");
  for (const WebhookCounters& webhook : webhooks_) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      fmt::format_to(line, "semel_webhook_events_total{{route=\"{}\",provider=\"{}\",outcome=\"{}\"}} {}\n",
                     webhook.label, webhook.provider, names.at(i),
                     webhook.by_end.at(i).load(std::memory_order_relaxed));
    }
  }
  out.append(
      "# HELP semel_webhook_unplaced_total Events of an ordered webhook that say nothing of their order.\n"
      "# TYPE semel_webhook_unplaced_total counter\n");
  for (const WebhookCounters& webhook : webhooks_) {
    fmt::format_to(line, "semel_webhook_unplaced_total{{route=\"{}\",provider=\"{}\"}} {}\n", webhook.label,
                   webhook.provider, webhook.unplaced.load(std::memory_order_relaxed));
  }
  out.append(
      "# HELP semel_webhook_handler_seconds How long the handler took.\n"
      "# TYPE semel_webhook_handler_seconds histogram\n");
  for (const WebhookCounters& webhook : webhooks_) {
    webhook.handler_seconds.render(out, "semel_webhook_handler_seconds", labels_of(webhook));
  }
  out.append(
      "# HELP semel_webhook_attempts How many attempts an event took until it was handled.\n"
      "# TYPE semel_webhook_attempts histogram\n");
  for (const WebhookCounters& webhook : webhooks_) {
    webhook.attempts.render(out, "semel_webhook_attempts", labels_of(webhook));
  }
}

}  // namespace semel::telemetry
