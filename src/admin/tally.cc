// How many requests ended in which way, by the minute, the hour or the day.
#include "telemetry/tally.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/key_json.h"
#include "admin/sources.h"
#include "core/json/writer.h"
#include "core/rfc3339.h"
#include "policy/request_view.h"
#include "telemetry/tally_ledger.h"
#include "telemetry/tally_past.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

using telemetry::TallyOutcome;
using telemetry::TallyStep;
using telemetry::TallySum;
using telemetry::TallyTable;

constexpr std::size_t items_max = 10'000;

struct TallyAsked {
  std::string by;  // as it was asked
  telemetry::TallyQuestion question;
};

Result<Time> time_in(const policy::RequestView& request, std::string_view name, Time otherwise) {
  const std::optional<std::string> text = parameter(request, name);
  if (!text) return otherwise;
  const std::optional<core::ExactTime> time = core::parse_rfc3339(*text);
  if (!time) return fail(Code::invalid, std::string(name) + ": must be a time such as 2026-11-17T00:00:00Z");
  return Time{std::chrono::duration_cast<Millis>(std::chrono::seconds{time->seconds})};
}

Result<TallyAsked> asked_in(const policy::RequestView& request, Time now) {
  TallyAsked asked;
  asked.by = parameter(request, "by").value_or("route");
  if (asked.by != "route" && asked.by != "scope" && asked.by != "outcome") {
    return fail(Code::invalid, "by: must be route, scope or outcome");
  }
  const std::string step = parameter(request, "step").value_or("hour");
  if (step != "minute" && step != "hour" && step != "day") {
    return fail(Code::invalid, "step: must be minute, hour or day");
  }
  Millis usual = telemetry::tally_day;
  asked.question.step = TallyStep::hour;
  if (step == "minute") {
    asked.question.step = TallyStep::minute;
    usual = telemetry::tally_hour;
  } else if (step == "day") {
    asked.question.step = TallyStep::day;
    usual = 7 * telemetry::tally_day;
  }
  const Result<Time> to = time_in(request, "to", now + telemetry::tally_minute);
  if (!to) return std::unexpected(to.error());
  const Result<Time> from = time_in(request, "from", *to - usual);
  if (!from) return std::unexpected(from.error());
  if (*from >= *to) return fail(Code::invalid, "from: must be before to");
  asked.question.span = {.from = std::max(*from, Time{}), .to = std::max(*to, Time{})};
  asked.question.by = asked.by == "scope" ? telemetry::tally_by_scope : telemetry::tally_by_route;
  return asked;
}

// One name for each outcome, whatever the route.
TallyTable by_outcome(const TallyTable& routes) {
  TallyTable table;
  for (const auto& [route, tally] : routes.rows()) {
    for (std::size_t i = 0; i < telemetry::tally_outcomes; ++i) {
      if (tally.counts[i] > 0) table.of(name(static_cast<TallyOutcome>(i))).counts[i] += tally.counts[i];
    }
    for (const auto& [outcome, times] : tally.times) table.of(name(outcome)).times_of(outcome).merge(times);
  }
  return table;
}

void write_times(core::json::JsonWriter& json, const TallySum& tally) {
  const telemetry::LatencySketch times = tally.all_times();
  const auto p50 = times.quantile(0.5);
  const auto p99 = times.quantile(0.99);
  if (!p50 || !p99) return;
  json.thousandths("p50_ms", static_cast<std::uint64_t>(p50->count()) / 1'000);
  json.thousandths("p99_ms", static_cast<std::uint64_t>(p99->count()) / 1'000);
}

void write_tally(core::json::JsonWriter& json, std::optional<Time> at, std::string_view name, const TallySum& tally) {
  const std::uint64_t keyed = telemetry::keyed_in(tally.counts);
  const std::uint64_t duplicates = telemetry::duplicates_in(tally.counts);
  json.begin_object();
  if (at) json.text("at", time_text(*at));
  json.bytes("name", name).number("requests", telemetry::requests_in(tally.counts)).number("keyed", keyed);
  json.number("duplicates", duplicates);
  json.decimal("rate", keyed == 0 ? 0.0 : static_cast<double>(duplicates) / static_cast<double>(keyed), 4);
  json.name("outcomes").begin_object();
  for (std::size_t i = 0; i < telemetry::tally_outcomes; ++i) {
    if (tally.counts[i] == 0) continue;
    json.escaped_name(telemetry::name(static_cast<TallyOutcome>(i))).number(tally.counts[i]);
  }
  json.end_object();
  write_times(json, tally);
  json.end_object();
}

std::string body_of(const TallyAsked& asked, const telemetry::TallyAnswer& answer) {
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().text("by", asked.by).text("step", name(asked.question.step));
  json.text("from", time_text(asked.question.span.from)).text("to", time_text(asked.question.span.to));
  json.name("items").begin_array();
  bool complete = answer.complete;
  Time searched_to = answer.searched_to;
  TallyTable totals;
  std::size_t items = 0;
  for (const auto& [at, routes] : answer.tables) {
    const TallyTable table = asked.by == "outcome" ? by_outcome(routes) : routes;
    items += table.rows().size();
    if (items > items_max) {
      complete = false;
      searched_to = at;
      break;
    }
    for (const auto& [name, tally] : table.rows()) write_tally(json, at, name, tally);
    totals.merge(table);
  }
  json.end_array().name("totals").begin_array();
  for (const auto& [name, tally] : totals.rows()) write_tally(json, std::nullopt, name, tally);
  json.end_array().text("searched_to", time_text(searched_to)).boolean("complete", complete).end_object();
  return body;
}

}  // namespace

Task<Response> show_tally(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  if (!sources->tally) co_return error_answer(501, "this gateway keeps no tallies");
  const Result<TallyAsked> asked = asked_in(request, sources->now());
  if (!asked) co_return error_answer(400, asked.error().detail);
  telemetry::TallyQuestion question = asked->question;
  const Result<telemetry::TallyAnswer> answer = co_await sources->tally(std::move(question));
  if (!answer) co_return error_answer(503, answer.error().detail);
  co_return json_answer(200, body_of(*asked, *answer));
}

}  // namespace semel::admin
