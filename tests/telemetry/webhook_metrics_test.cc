// What is counted of a webhook, and that it lasts over reloads.
#include "telemetry/webhook_metrics.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "webhook/signatures.h"

namespace semel::telemetry {
namespace {

std::string rendered(const WebhookMetrics& metrics) {
  std::string out;
  metrics.render(out);
  return out;
}

bool has_line(const std::string& text, std::string_view line) {
  return ("\n" + text).find("\n" + std::string(line) + "\n") != std::string::npos;
}

// No webhook, no line: not even a heading.
TEST(WebhookMetricsTest, SaysNothingWithoutWebhooks) {
  EXPECT_EQ(rendered(WebhookMetrics()), "");
}

// Counters belong to a path and a provider; a change of either begins anew, and the old reference stays good.
TEST(WebhookMetricsTest, KeepsCountersByPathAndProvider) {
  WebhookMetrics metrics;
  WebhookCounters& first = metrics.webhook("/a", "stripe");
  for (int i = 0; i < 1'000; ++i) metrics.webhook("/" + std::to_string(i), "stripe");
  EXPECT_EQ(&metrics.webhook("/a", "stripe"), &first);
  EXPECT_NE(&metrics.webhook("/a", "github"), &first);
  EXPECT_NE(&metrics.webhook("/b", "stripe"), &first);
  first.unplaced = 2;
  EXPECT_TRUE(has_line(rendered(metrics), R"(semel_webhook_unplaced_total{route="/a",provider="stripe"} 2)"));
  EXPECT_TRUE(has_line(rendered(metrics), R"(semel_webhook_unplaced_total{route="/a",provider="github"} 0)"));
}

// Why deliveries were not believed: every reason has a line from the start, so that an alert on it can be written.
TEST(WebhookMetricsTest, TellsWhyDeliveriesWereNotBelieved) {
  WebhookMetrics metrics;
  count(metrics.webhook("/a", "p").by_fault, webhook::SignatureFault::stale);
  const std::string text = rendered(metrics);
  for (std::size_t i = 0; i < webhook::signature_faults; ++i) {
    const auto fault = static_cast<webhook::SignatureFault>(i);
    EXPECT_TRUE(has_line(text, "semel_webhook_signature_failures_total{route=\"/a\",provider=\"p\",reason=\"" +
                                   std::string(name(fault)) + "\"} " +
                                   (fault == webhook::SignatureFault::stale ? "1" : "0")));
  }
}

// The first secret always has a line; another one only once it has matched, under its number in the configuration.
TEST(WebhookMetricsTest, TellsWhichSecretMatched) {
  WebhookMetrics metrics;
  WebhookCounters& webhook = metrics.webhook("/a", "p");
  webhook.by_secret.at(2) = 5;
  const std::string text = rendered(metrics);
  EXPECT_TRUE(has_line(text, R"(semel_webhook_deliveries_total{route="/a",provider="p",secret="1"} 0)"));
  EXPECT_TRUE(has_line(text, R"(semel_webhook_deliveries_total{route="/a",provider="p",secret="3"} 5)"));
  EXPECT_EQ(text.find(R"(secret="2")"), std::string::npos);
  EXPECT_EQ(text.find(R"(secret="4")"), std::string::npos);
}

// What became of events, how long the handler took, how many attempts it needed, and the handshakes.
TEST(WebhookMetricsTest, TellsWhatBecameOfEvents) {
  WebhookMetrics metrics;
  WebhookCounters& webhook = metrics.webhook("/a", "p");
  count(webhook.by_end, EventEnd::handled);
  count(webhook.by_end, EventEnd::out_of_order);
  count(webhook.by_end, EventEnd::out_of_order);
  webhook.handshakes = 3;
  webhook.handshakes_refused = 4;
  webhook.handler_seconds.add(0.02);
  webhook.attempts.add(2);
  const std::string text = rendered(metrics);
  for (const char* line : {R"(semel_webhook_events_total{route="/a",provider="p",outcome="handled"} 1)",
                           R"(semel_webhook_events_total{route="/a",provider="p",outcome="failed"} 0)",
                           R"(semel_webhook_events_total{route="/a",provider="p",outcome="unknown"} 0)",
                           R"(semel_webhook_events_total{route="/a",provider="p",outcome="duplicate"} 0)",
                           R"(semel_webhook_events_total{route="/a",provider="p",outcome="in_flight"} 0)",
                           R"(semel_webhook_events_total{route="/a",provider="p",outcome="out_of_order"} 2)",
                           R"(semel_webhook_handshakes_total{route="/a",provider="p",outcome="answered"} 3)",
                           R"(semel_webhook_handshakes_total{route="/a",provider="p",outcome="refused"} 4)",
                           R"(semel_webhook_handler_seconds_bucket{route="/a",provider="p",le="0.025"} 1)",
                           R"(semel_webhook_handler_seconds_bucket{route="/a",provider="p",le="0.01"} 0)",
                           R"(semel_webhook_attempts_bucket{route="/a",provider="p",le="2"} 1)",
                           R"(semel_webhook_attempts_sum{route="/a",provider="p"} 2)"}) {
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  }
}

// A path may hold what has a meaning in the format.
TEST(WebhookMetricsTest, EscapesLabels) {
  WebhookMetrics metrics;
  metrics.webhook("/a\"b\\", "p").unplaced = 1;
  EXPECT_TRUE(has_line(rendered(metrics), R"(semel_webhook_unplaced_total{route="/a\"b\\",provider="p"} 1)"));
}

}  // namespace
}  // namespace semel::telemetry
