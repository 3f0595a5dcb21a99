// The text of /metrics: its form, what each counter is found under, and what a reload does to it.
#include "telemetry/metrics.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "telemetry/log_sink.h"
#include <semel/problem.h>

namespace semel::telemetry {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has_line(const std::string& text, std::string_view line) {
  return std::ranges::count(lines_of(text), line) == 1;
}

// The name of a sample's family: what # TYPE says it is.
std::string family_of(const std::string& line, const std::set<std::string>& histograms) {
  const std::string name = line.substr(0, line.find_first_of("{ "));
  for (const char* part : {"_bucket", "_sum", "_count"}) {
    if (name.ends_with(part) && histograms.contains(name.substr(0, name.size() - std::string_view(part).size()))) {
      return name.substr(0, name.size() - std::string_view(part).size());
    }
  }
  return name;
}

// Every line is one that Prometheus reads; each family has its HELP and its TYPE first, stands in one piece, and no
// series comes twice.
TEST(MetricsTest, IsInTheTextFormat) {
  const LogSink log(-1);
  Metrics metrics(std::make_shared<StoreMetrics>(), &log);
  metrics.route("/v1/*");
  metrics.route("/v2/{id}");
  metrics.webhooks.webhook("/hooks/a", "stripe");
  metrics.webhooks.webhook("/hooks/b", "github");
  const std::regex sample(
      R"re(([a-z_]+)(\{[a-z_]+="([^"\\]|\\["\\n])*"(,[a-z_]+="([^"\\]|\\["\\n])*")*\})? [0-9.e+-]+)re");
  std::set<std::string> families;
  std::set<std::string> histograms;
  std::set<std::string> series;
  std::string family;
  std::string helped;
  for (const std::string& line : lines_of(metrics.render())) {
    if (line.starts_with("# HELP ")) {
      helped = line.substr(7, line.find(' ', 7) - 7);
    } else if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_EQ(family, helped);
      EXPECT_TRUE(families.insert(family).second) << family << " comes in two pieces";
      if (line.ends_with(" histogram")) histograms.insert(family);
    } else {
      EXPECT_TRUE(std::regex_match(line, sample)) << line;
      EXPECT_EQ(family_of(line, histograms), family) << line;
      EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
    }
  }
  EXPECT_GT(families.size(), 20U);
  EXPECT_TRUE(metrics.render().ends_with('\n'));
}

// What was counted is found under the name of its route and of its end.
TEST(MetricsTest, TellsRequestsByRouteAndEnding) {
  Metrics metrics;
  RouteMetrics& route = metrics.route("/v1/*");
  count(route.by_ending, Ending::ran);
  count(route.by_ending, Ending::ran);
  count(route.by_ending, Ending::superseded);
  count(route.by_problem, ProblemType::key_reused);
  route.would_replay = 3;
  route.would_refuse = 4;
  route.bad_outcome_fields = 5;
  const std::string text = metrics.render();
  for (const char* line : {R"(semel_requests_total{route="/v1/*",outcome="ran"} 2)",
                           R"(semel_requests_total{route="/v1/*",outcome="superseded"} 1)",
                           R"(semel_requests_total{route="/v1/*",outcome="passed"} 0)",
                           R"(semel_refused_total{route="/v1/*",problem="key-reused"} 1)",
                           R"(semel_refused_total{route="/v1/*",problem="misdirected"} 0)",
                           R"(semel_observed_total{route="/v1/*",would="replay"} 3)",
                           R"(semel_observed_total{route="/v1/*",would="refuse"} 4)",
                           R"(semel_bad_outcome_fields_total{route="/v1/*"} 5)"}) {
    EXPECT_TRUE(has_line(text, line)) << line;
  }
}

// Every ending has a name of its own, and /metrics and the log use the same.
TEST(MetricsTest, NamesEveryEnding) {
  Metrics metrics;
  metrics.route("/");
  const std::string text = metrics.render();
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < endings; ++i) {
    const std::string_view one = name(static_cast<Ending>(i));
    EXPECT_TRUE(names.insert(one).second) << one;
    EXPECT_TRUE(has_line(text, "semel_requests_total{route=\"/\",outcome=\"" + std::string(one) + "\"} 0")) << one;
  }
}

// A route that is there again after a reload goes on counting; references from before stay good.
TEST(MetricsTest, KeepsARouteOverReloads) {
  Metrics metrics;
  RouteMetrics& first = metrics.route("/v1/*");
  count(first.by_ending, Ending::ran);
  for (int i = 0; i < 1'000; ++i) metrics.route("/" + std::to_string(i));
  EXPECT_EQ(&metrics.route("/v1/*"), &first);
  count(first.by_ending, Ending::ran);
  EXPECT_TRUE(has_line(metrics.render(), R"(semel_requests_total{route="/v1/*",outcome="ran"} 2)"));
}

// A label cannot end its quotes.
TEST(MetricsTest, EscapesLabels) {
  Metrics metrics;
  count(metrics.route(R"(/a"b\c)").by_ending, Ending::passed);
  EXPECT_TRUE(has_line(metrics.render(), R"(semel_requests_total{route="/a\"b\\c",outcome="passed"} 1)"));
}

// Refusals over a rate or a quota, and damaged records, are summed up over all routes.
TEST(MetricsTest, SumsUpRefusals) {
  Metrics metrics;
  count(metrics.route("/a").by_problem, ProblemType::rate_limited);
  count(metrics.route("/a").by_problem, ProblemType::quota_exceeded);
  count(metrics.route("/b").by_problem, ProblemType::quota_exceeded);
  count(metrics.route("/b").by_problem, ProblemType::record_corrupt);
  count(metrics.route("/b").by_problem, ProblemType::key_reused);
  const std::string text = metrics.render();
  EXPECT_TRUE(has_line(text, "semel_quota_refusals_total 3"));
  EXPECT_TRUE(has_line(text, "semel_records_refused_total 1"));
}

// What stands for the whole process, with gauges that go down too.
TEST(MetricsTest, TellsOfTheProcess) {
  Metrics metrics;
  metrics.in_flight += 3;
  metrics.in_flight -= 1;
  metrics.expired = 11;
  metrics.store_errors = 12;
  metrics.clients.handshake_failures = 13;
  metrics.clients.turned_away = 14;
  metrics.clients.slow = 15;
  metrics.claim_seconds.add(0.003);
  const std::string text = metrics.render();
  for (const char* line :
       {"semel_in_flight 2", "semel_expired_total 11", "semel_store_errors_total 12",
        "semel_tls_handshake_failures_total 13", "semel_connections_refused_total 14", "semel_slow_clients_total 15",
        "semel_claim_seconds_count 1", "semel_claim_seconds_sum 0.003", R"(semel_claim_seconds_bucket{le="0.0025"} 0)",
        R"(semel_claim_seconds_bucket{le="0.005"} 1)", "semel_complete_seconds_count 0",
        "semel_upstream_seconds_count 0"}) {
    EXPECT_TRUE(has_line(text, line)) << line;
  }
}

// A store that does not tell, and a log that is not written, have no lines at all rather than zeros.
TEST(MetricsTest, SaysNothingOfWhatIsNotThere) {
  Metrics metrics;
  EXPECT_EQ(metrics.render().find("semel_store_batch_writes"), std::string::npos);
  EXPECT_EQ(metrics.render().find("semel_log_lines_dropped_total"), std::string::npos);
  EXPECT_EQ(metrics.render().find("semel_webhook_"), std::string::npos);

  const auto store = std::make_shared<StoreMetrics>();
  const LogSink log(-1);
  const Metrics telling(store, &log);
  store->batch_writes.add(3);
  const std::string text = telling.render();
  EXPECT_TRUE(has_line(text, R"(semel_store_batch_writes_bucket{le="4"} 1)"));
  EXPECT_TRUE(has_line(text, "semel_store_sync_seconds_count 0"));
  EXPECT_TRUE(has_line(text, "semel_log_lines_dropped_total 0"));
}

}  // namespace
}  // namespace semel::telemetry
