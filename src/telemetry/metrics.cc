// Names and help texts are what dashboards are built on: change them as one changes an interface.
#include "telemetry/metrics.h"

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

#include "telemetry/histogram.h"
#include "telemetry/request_log.h"
#include <semel/problem.h>

namespace semel::telemetry {
namespace {

constexpr std::array<std::string_view, endings> ending_names{
    "passed", "unkeyed", "ran", "released", "unknown", "replayed", "refused", "malformed", "observed", "superseded"};

void heading(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

template <class Number>
void sample(std::string& out, std::string_view name, Number value) {
  fmt::format_to(std::back_inserter(out), "{} {}\n", name, value);
}

void histogram(std::string& out, std::string_view name, std::string_view help, const Histogram& counts) {
  heading(out, name, "histogram", help);
  counts.render(out, name, "");
}

std::string escaped(std::string_view label) {
  std::string out;
  for (const char c : label) {
    if (c == '\\' || c == '"') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

}  // namespace

std::string_view name(Ending ending) {
  return ending_names.at(static_cast<std::size_t>(ending));
}

RouteMetrics& Metrics::route(std::string_view label) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(routes_, label, &RouteMetrics::label);
  return found != routes_.end() ? *found : routes_.emplace_back(std::string(label));
}

std::uint64_t Metrics::refused(ProblemType problem) const {
  std::uint64_t total = 0;
  for (const RouteMetrics& route : routes_) {
    total += route.by_problem.at(static_cast<std::size_t>(problem)).load(std::memory_order_relaxed);
  }
  return total;
}

void Metrics::render_routes(std::string& out) const {
  const auto line = std::back_inserter(out);
  heading(out, "semel_requests_total", "counter", "Requests by route and how they ended.");
  for (const RouteMetrics& route : routes_) {
    for (std::size_t i = 0; i < endings; ++i) {
      fmt::format_to(line, "semel_requests_total{{route=\"{}\",outcome=\"{}\"}} {}\n", escaped(route.label),
                     ending_names.at(i), route.by_ending.at(i).load(std::memory_order_relaxed));
    }
  }
  heading(out, "semel_refused_total", "counter", "Refused requests by route and problem.");
  for (const RouteMetrics& route : routes_) {
    for (std::size_t i = 0; i < problem_types; ++i) {
      fmt::format_to(line, "semel_refused_total{{route=\"{}\",problem=\"{}\"}} {}\n", escaped(route.label),
                     Problem::of(static_cast<ProblemType>(i)).slug(),
                     route.by_problem.at(i).load(std::memory_order_relaxed));
    }
  }
  heading(out, "semel_observed_total", "counter", "In observe mode: what would have happened.");
  for (const RouteMetrics& route : routes_) {
    fmt::format_to(line, "semel_observed_total{{route=\"{0}\",would=\"replay\"}} {1}\n", escaped(route.label),
                   route.would_replay.load(std::memory_order_relaxed));
    fmt::format_to(line, "semel_observed_total{{route=\"{0}\",would=\"refuse\"}} {1}\n", escaped(route.label),
                   route.would_refuse.load(std::memory_order_relaxed));
  }
  heading(out, "semel_bad_outcome_fields_total", "counter", "Semel-Outcome fields that said nothing known.");
  for (const RouteMetrics& route : routes_) {
    fmt::format_to(line, "semel_bad_outcome_fields_total{{route=\"{}\"}} {}\n", escaped(route.label),
                   route.bad_outcome_fields.load(std::memory_order_relaxed));
  }
}

std::string Metrics::render() const {
  std::string out;
  const std::scoped_lock lock(mutex_);
  heading(out, "semel_build_info", "gauge", "Always 1; the label says which version runs.");
  sample(out, "semel_build_info{version=\"" SEMEL_VERSION "\"}", 1);
  render_routes(out);
  heading(out, "semel_quota_refusals_total", "counter", "Requests refused with 429: over a rate or a quota.");
  sample(out, "semel_quota_refusals_total", refused(ProblemType::rate_limited) + refused(ProblemType::quota_exceeded));
  heading(out, "semel_records_refused_total", "counter",
          "Requests whose stored answer was damaged, altered, or could not be decrypted.");
  sample(out, "semel_records_refused_total", refused(ProblemType::record_corrupt));
  heading(out, "semel_tls_handshake_failures_total", "counter",
          "Clients that did not get through the TLS handshake: no TLS, no suite in common, no certificate, too slow.");
  sample(out, "semel_tls_handshake_failures_total", handshake_failures.load(std::memory_order_relaxed));
  heading(out, "semel_connections_refused_total", "counter", "Connections turned away because there was no room.");
  sample(out, "semel_connections_refused_total", connections_refused.load(std::memory_order_relaxed));
  heading(out, "semel_slow_clients_total", "counter",
          "Clients that were told 408 or cut off because they sent a request or took an answer too slowly.");
  sample(out, "semel_slow_clients_total", slow_clients.load(std::memory_order_relaxed));
  if (log != nullptr) {
    heading(out, "semel_log_lines_dropped_total", "counter", "Lines of the log that were thrown away: nobody read it.");
    sample(out, "semel_log_lines_dropped_total", log->lines_dropped());
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
  if (store_ == nullptr) return out;
  histogram(
      out, "semel_store_batch_writes",
      "Records written by one sync of the embedded store, or calls answered by one commit of the PostgreSQL store.",
      store_->batch_writes);
  histogram(out, "semel_store_sync_seconds",
            "How long each sync of the embedded store, or commit of the PostgreSQL store, took.", store_->sync_seconds);
  return out;
}

}  // namespace semel::telemetry
