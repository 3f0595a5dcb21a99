// GET /v1/now: the last hour in steps of ten seconds, for plots; and how much room the store has.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/handlers.h"
#include "admin/key_json.h"
#include "admin/sources.h"
#include "config/config.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include "telemetry/histogram.h"
#include "telemetry/recent.h"
#include "telemetry/route_metrics.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel::admin {
namespace {

using telemetry::Ending;
using telemetry::Moment;
using Moments = std::vector<Moment>;

std::uint64_t all_of(const Moment& moment) {
  std::uint64_t total = 0;
  for (const std::uint64_t each : moment.ended) total += each;
  return total;
}

std::uint64_t count_of(const Moment& moment, Ending ending) {
  return moment.ended.at(static_cast<std::size_t>(ending));
}

std::uint64_t count_of(const Moment& moment, ProblemType problem) {
  return moment.refused.at(static_cast<std::size_t>(problem));
}

// How many there were between each two samples.
template <class Count>
void write_counts(core::json::JsonWriter& json, const Moments& moments, Count count) {
  json.begin_array();
  for (std::size_t i = 1; i < moments.size(); ++i) json.number(count(moments[i]) - count(moments[i - 1]));
  json.end_array();
}

// Milliseconds that 99 % stay below; null where nothing was measured.
void write_p99(core::json::JsonWriter& json, const Moments& moments, telemetry::Histogram::Counts Moment::* counts) {
  json.begin_array();
  for (std::size_t i = 1; i < moments.size(); ++i) {
    const double seconds = telemetry::quantile(moments[i - 1].*counts, moments[i].*counts, 0.99);
    if (seconds < 0) {
      json.verbatim("null");
    } else {
      json.decimal(seconds * 1'000, 3);
    }
  }
  json.end_array();
}

void write_series(core::json::JsonWriter& json, const Moments& moments) {
  json.begin_object();
  write_counts(json.name("requests"), moments, all_of);
  write_counts(json.name("ran"), moments, [](const Moment& m) { return count_of(m, Ending::ran); });
  write_counts(json.name("replayed"), moments, [](const Moment& m) { return count_of(m, Ending::replayed); });
  write_counts(json.name("unknown"), moments, [](const Moment& m) { return count_of(m, Ending::unknown); });
  write_counts(json.name("refused"), moments, [](const Moment& m) { return count_of(m, Ending::refused); });
  write_counts(json.name("in_flight"), moments, [](const Moment& m) { return count_of(m, ProblemType::in_flight); });
  write_counts(json.name("reused"), moments, [](const Moment& m) { return count_of(m, ProblemType::key_reused); });
  write_counts(json.name("held"), moments, [](const Moment& m) { return count_of(m, ProblemType::outcome_unknown); });
  write_counts(json.name("unreachable"), moments,
               [](const Moment& m) { return count_of(m, ProblemType::upstream_unreachable); });
  write_counts(json.name("signatures"), moments,
               [](const Moment& m) { return count_of(m, ProblemType::signature_invalid); });
  write_counts(json.name("corrupt"), moments, [](const Moment& m) { return count_of(m, ProblemType::record_corrupt); });
  write_counts(json.name("limited"), moments, [](const Moment& m) {
    return count_of(m, ProblemType::rate_limited) + count_of(m, ProblemType::quota_exceeded);
  });
  write_counts(json.name("store_errors"), moments, [](const Moment& m) { return m.store_errors; });
  write_counts(json.name("turned_away"), moments, [](const Moment& m) { return m.turned_away; });
  write_p99(json.name("commit_p99_ms"), moments, &Moment::commit);
  write_p99(json.name("claim_p99_ms"), moments, &Moment::claim);
  write_p99(json.name("upstream_p99_ms"), moments, &Moment::upstream);
  json.end_object();
}

std::string_view kind_of(config::StoreKind kind) {
  constexpr std::array<std::string_view, 5> names{"embedded", "memory", "postgres", "redis", "redis"};
  return names.at(static_cast<std::size_t>(kind));
}

void write_store(core::json::JsonWriter& json, const config::StoreConfig& store) {
  json.begin_object().text("kind", kind_of(store.kind)).number("databases", store.urls.size());
  if (store.kind == config::StoreKind::embedded) {
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(config::embedded_path(store), error);
    if (!error) json.number("free_bytes", space.available).number("free_bytes_min", store.free_bytes_min);
  }
  json.end_object();
}

}  // namespace

Task<Response> show_now(const Sources* sources, policy::RequestView /*request*/, Caller /*caller*/) {
  if (sources->recent == nullptr) co_return error_answer(501, "nothing is sampled here");
  Moments moments = sources->recent->all();
  moments.push_back(sources->moment());  // up to this second, not kept
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().text("at", time_text(moments.back().at)).text("since", time_text(moments.front().at));
  json.boolean("draining", sources->draining()).number("under_way", moments.back().in_flight);
  json.name("times").begin_array();
  for (const Moment& moment : moments) json.number(moment.at.time_since_epoch().count());
  write_series(json.end_array().name("series"), moments);
  write_store(json.name("store"), sources->config()->store);
  json.end_object();
  co_return json_answer(200, std::move(body));
}

}  // namespace semel::admin
