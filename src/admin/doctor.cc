// What the doctor found out about clients, and what enforcing would do on routes that only observe.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/key_json.h"
#include "admin/sources.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include "telemetry/finding.h"
#include "telemetry/tally.h"
#include "telemetry/tally_ledger.h"
#include "telemetry/tally_past.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

using telemetry::TallyOutcome;

constexpr std::uint64_t days_max = 90;
constexpr std::size_t items_max = 1'000;

std::optional<std::uint64_t> days_in(const policy::RequestView& request) {
  const std::string text = parameter(request, "days").value_or("7");
  std::uint64_t days = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), days);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && days > 0 && days <= days_max ? std::optional(days) : std::nullopt;
}

void write_finding(core::json::JsonWriter& json, const telemetry::Finding& finding) {
  json.begin_object().text("kind", name(finding.kind)).text("strength", finding.strong ? "strong" : "weak");
  json.bytes("route", finding.route).text("scope", finding.scope).text("evidence", finding.evidence);
  json.number("count", finding.count).text("first", time_text(finding.first)).text("last", time_text(finding.last));
  json.text("advice", advice_for(finding.kind)).name("members").begin_array();
  for (const std::string& member : finding.members) json.bytes(member);
  json.end_array().bytes("remedy", finding.remedy()).end_object();
}

// Of the routes that observe.
void write_observed(core::json::JsonWriter& json, const telemetry::TallyAnswer& answer, const std::string& route) {
  telemetry::TallyTable all;
  for (const auto& [at, table] : answer.tables) all.merge(table);
  for (const auto& [name, tally] : all.rows()) {
    const auto of = [&counts = tally.counts](TallyOutcome outcome) {
      return counts.at(static_cast<std::size_t>(outcome));
    };
    const std::uint64_t run = of(TallyOutcome::would_run);
    const std::uint64_t replay = of(TallyOutcome::would_replay);
    const std::uint64_t refuse = of(TallyOutcome::would_refuse);
    const std::uint64_t pass = of(TallyOutcome::observed);
    if (run + replay + refuse + pass == 0 || (!route.empty() && route != name)) continue;
    json.begin_object().bytes("route", name).number("requests", run + replay + refuse + pass);
    json.number("would_run", run).number("would_replay", replay).number("would_refuse", refuse);
    json.number("would_pass", pass).end_object();
  }
}

}  // namespace

Task<Response> show_doctor(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  if (!sources->findings || !sources->tally) co_return error_answer(501, "this gateway has no doctor");
  const std::optional<std::uint64_t> days = days_in(request);
  if (!days) co_return error_answer(400, "days: must be 1 to 90");
  const std::string route = parameter(request, "route").value_or("");
  const Time now = sources->now();
  const Time from = now - static_cast<std::int64_t>(*days) * telemetry::tally_day;
  const Result<std::vector<telemetry::Finding>> found = co_await sources->findings(from);
  if (!found) co_return error_answer(503, found.error().detail);
  telemetry::TallyQuestion question{.by = std::string(telemetry::tally_by_route),
                                    .step = telemetry::TallyStep::day,
                                    .span = {.from = from, .to = now + telemetry::tally_minute}};
  const Result<telemetry::TallyAnswer> observed = co_await sources->tally(std::move(question));
  if (!observed) co_return error_answer(503, observed.error().detail);
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().name("items").begin_array();
  std::size_t items = 0;
  for (const telemetry::Finding& finding : *found) {
    if (finding.last < from || (!route.empty() && finding.route != route) || items >= items_max) continue;
    write_finding(json, finding);
    ++items;
  }
  json.end_array().name("observed").begin_array();
  write_observed(json, *observed, route);
  json.end_array().text("from", time_text(from)).text("to", time_text(now)).boolean("complete", items < items_max);
  json.end_object();
  co_return json_answer(200, std::move(body));
}

}  // namespace semel::admin
