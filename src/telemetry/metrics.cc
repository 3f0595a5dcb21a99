// Names and help texts are what dashboards are built on: change them as one changes an interface.
#include "telemetry/metrics.h"

#include <atomic>
#include <string>
#include <string_view>

#include "telemetry/exposition.h"
#include "telemetry/histogram.h"
#include <semel/problem.h>

namespace semel::telemetry {
namespace {

void histogram(std::string& out, std::string_view name, std::string_view help, const Histogram& counts) {
  heading(out, name, "histogram", help);
  counts.render(out, name, "");
}

}  // namespace

std::string Metrics::render() const {
  std::string out;
  heading(out, "semel_build_info", "gauge", "Always 1; the label says which version runs.");
  sample(out, "semel_build_info{version=\"" SEMEL_VERSION "\"}", 1);
  routes_.render(out);
  heading(out, "semel_quota_refusals_total", "counter", "Requests refused with 429: over a rate or a quota.");
  sample(out, "semel_quota_refusals_total",
         routes_.refused(ProblemType::rate_limited) + routes_.refused(ProblemType::quota_exceeded));
  heading(out, "semel_records_refused_total", "counter",
          "Requests whose stored answer was damaged, altered, or could not be decrypted.");
  sample(out, "semel_records_refused_total", routes_.refused(ProblemType::record_corrupt));
  heading(out, "semel_tls_handshake_failures_total", "counter",
          "Clients that did not get through the TLS handshake: no TLS, no suite in common, no certificate, too slow.");
  sample(out, "semel_tls_handshake_failures_total", clients.handshake_failures.load(std::memory_order_relaxed));
  heading(out, "semel_connections_refused_total", "counter", "Connections turned away because there was no room.");
  sample(out, "semel_connections_refused_total", clients.turned_away.load(std::memory_order_relaxed));
  heading(out, "semel_slow_clients_total", "counter",
          "Clients that were told 408 or cut off because they sent a request or took an answer too slowly.");
  sample(out, "semel_slow_clients_total", clients.slow.load(std::memory_order_relaxed));
  if (log_ != nullptr) {
    heading(out, "semel_log_lines_dropped_total", "counter",
            "Log lines that were dropped because nobody read the log.");
    sample(out, "semel_log_lines_dropped_total", log_->lines_dropped());
  }
  heading(out, "semel_in_flight", "gauge", "Guarded requests under way.");
  sample(out, "semel_in_flight", in_flight.load(std::memory_order_relaxed));
  heading(out, "semel_expired_total", "counter", "Expired records that were swept.");
  sample(out, "semel_expired_total", expired.load(std::memory_order_relaxed));
  heading(out, "semel_store_errors_total", "counter", "Requests that the store did not answer for, or not in time.");
  sample(out, "semel_store_errors_total", store_errors.load(std::memory_order_relaxed));
  histogram(out, "semel_claim_seconds", "From asking the store for a key to the start of its attempt.", claim_seconds);
  histogram(out, "semel_complete_seconds", "From the end of an attempt to its outcome being durable.",
            complete_seconds);
  histogram(out, "semel_upstream_seconds", "From sending a guarded request to the end of its answer.",
            upstream_seconds);
  webhooks.render(out);
  api.render(out);
  webhooks.inbox.render(out);
  if (store_ == nullptr) return out;
  histogram(out, "semel_store_batch_writes",
            "Records written by one sync of the embedded store, or calls answered together by PostgreSQL or Redis.",
            store_->batch_writes);
  histogram(out, "semel_store_sync_seconds",
            "How long each sync of the embedded store, commit of PostgreSQL or batch of Redis took.",
            store_->sync_seconds);
  heading(out, "semel_store_lost_calls_total", "counter",
          "Calls that Redis had acknowledged and has forgotten in a restart or failover, as noticed here.");
  sample(out, "semel_store_lost_calls_total", store_->lost_calls.load(std::memory_order_relaxed));
  return out;
}

}  // namespace semel::telemetry
