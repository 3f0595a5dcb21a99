// What audits found: how each stands, its findings, a window on demand; and what an operator does to a finding, which
// is in the audit log before it is done. (`/v1/audit` is that log, and nothing else.)
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/inbox_request.h"
#include "admin/key_json.h"
#include "admin/sources.h"
#include "auditor/audit_book.h"
#include "auditor/auditor.h"
#include "auditor/comparison.h"
#include "auditor/effect_source.h"
#include "auditor/finding.h"
#include "auditor/window_run.h"
#include "config/audit.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include "store/audit_log.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

constexpr std::size_t items_max = 1'000;
constexpr std::string_view above = "/v1/audits/";
constexpr std::string_view above_findings = "/v1/audits/findings/";

void write_counts(core::json::JsonWriter& json, const std::array<std::uint64_t, auditor::finding_kinds>& counts) {
  json.name("suspects").begin_object();
  for (std::size_t i = 1; i < counts.size(); ++i) {
    json.escaped_name(name(static_cast<auditor::AuditKind>(i))).number(counts.at(i));
  }
  json.end_object();
}

void write_view(core::json::JsonWriter& json, const auditor::AuditView& view) {
  const config::AuditConfig& audit = *view.config;
  const auditor::AuditStatus& status = view.status;
  json.begin_object().text("name", audit.name).bytes("namespace", audit.space);
  json.number("every_ms", audit.every.count()).number("settle_ms", audit.settle.count());
  json.number("overlap_ms", audit.overlap.count());
  json.text("expect", audit.expect == config::AuditExpect::one ? "one" : "at-most-one");
  json.bytes("page_to", audit.page_to);
  if (status.progress.judged_to) json.text("judged_to", time_text(*status.progress.judged_to));
  if (status.ended != Time{}) json.text("ended", time_text(status.ended));
  json.boolean("blind", status.blind).text("trouble", status.trouble).number("effects", status.effects);
  json.number("keys", status.keys).number("took_ms", status.took_ms).number("lag_ms", status.lag_ms);
  write_counts(json, status.suspects);
  json.end_object();
}

std::string outcome_json(const std::string& audit, const auditor::AuditOutcome& outcome) {
  const auditor::WindowReport& report = outcome.report;
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().text("audit", audit).text("from", time_text(report.window.from));
  json.text("to", time_text(report.window.to)).text("settled", time_text(report.window.settled));
  json.number("effects", report.effects).number("keys", report.keys).number("shares", report.shares);
  json.boolean("blind", report.blind).number("took_ms", outcome.took.count()).number("lag_ms", outcome.lag.count());
  json.number("not_closed", outcome.not_closed);
  write_counts(json, report.suspects);
  json.name("findings").begin_array();
  for (const auditor::AuditFinding& finding : report.findings) json.verbatim(auditor::finding_json(finding));
  json.end_array().end_object();
  return body;
}

Result<auditor::FindingFilter> filter_in(const policy::RequestView& request) {
  auditor::FindingFilter filter;
  filter.audit = parameter(request, "audit");
  if (const auto state = parameter(request, "state")) {
    for (const auto each :
         {auditor::FindingState::open, auditor::FindingState::acknowledged, auditor::FindingState::closed}) {
      if (*state == name(each)) filter.state = each;
    }
    if (!filter.state) return fail(Code::invalid, "state: must be open, acknowledged or closed");
  }
  if (const auto kind = parameter(request, "kind")) {
    for (std::size_t i = 1; i < auditor::finding_kinds; ++i) {
      const auto each = static_cast<auditor::AuditKind>(i);
      if (*kind == name(each)) filter.kind = each;
    }
    if (!filter.kind) return fail(Code::invalid, "kind: must be duplicate, missing, ghost, orphan or duplicate-value");
  }
  return filter;
}

// The window in the body. Nothing if the next one is meant.
Result<auditor::AuditAsked> asked_in(const boost::json::object& body) {
  auditor::AuditAsked asked;
  if (const boost::json::value* const test = body.if_contains("test")) {
    if (!test->is_bool()) return fail(Code::invalid, "test: must be true or false");
    asked.test = test->get_bool();
  }
  const auto moment = [&](std::string_view member) { return moment_of(text_in(body, member).value_or("")); };
  const bool given = body.contains("from") || body.contains("to");
  if (!given) return asked;
  const std::optional<Time> from = moment("from");
  const std::optional<Time> to = moment("to");
  if (!from) return fail(Code::invalid, "from: must be a time such as 2026-01-02T03:04:05Z");
  if (!to) return fail(Code::invalid, "to: must be a time such as 2026-01-02T03:04:05Z");
  if (*from >= *to) return fail(Code::invalid, "from: must be before to");
  asked.span = auditor::EffectSpan{.from = *from, .to = *to};
  return asked;
}

std::string entry_text(const Caller& caller, std::string_view act, const auditor::AuditFinding& finding,
                       std::string_view reason, Time at) {
  std::string text;
  core::json::JsonWriter json(text);
  json.begin_object().text("at", time_text(at)).text("act", act).text("finding", finding.id);
  json.text("audit", finding.audit).text("kind", name(finding.kind)).text("role", name_of(caller.role));
  json.bytes("who", caller.name).bytes("from", caller.from).bytes("reason", reason).end_object();
  return text;
}

Task<Response> act(const Sources* sources, policy::RequestView request, Caller caller, auditor::FindingState state) {
  if (sources->audit == nullptr) co_return error_answer(501, "this store has no audit log");
  const std::optional<boost::json::object> body = object_in(request);
  if (!body) co_return error_answer(400, "the body must be a JSON object");
  const Result<std::string> reason = reason_in(*body);
  if (!reason) co_return error_answer(400, reason.error().detail);
  if (sources->audits == nullptr) co_return error_answer(404, "there is no finding: this gateway has no [[audit]]");
  const std::string id = segment_in(request, above_findings).value_or("");
  const Result<std::optional<auditor::AuditFinding>> found = co_await sources->audits->find(id);
  if (!found) co_return error_answer(503, found.error().detail);
  const std::optional<auditor::AuditFinding>& finding = *found;
  if (!finding) co_return error_answer(404, "there is no finding with this id");
  const std::string_view what = state == auditor::FindingState::closed ? "close finding" : "acknowledge finding";
  std::string text = entry_text(caller, what, *finding, *reason, sources->now());
  const Result<store::AuditEntry> logged = co_await sources->audit->append(std::move(text));
  if (!logged) {
    co_return error_answer(503, "nothing was done, because the audit log cannot be written: " + logged.error().detail);
  }
  const Result<auditor::AuditFinding> done = co_await sources->audits->act(id, state, *reason, caller.name);
  if (!done) co_return error_answer(done.error().code == Code::fenced ? 409 : 503, done.error().detail);
  std::string answer;
  core::json::JsonWriter json(answer);
  json.begin_object().number("audit", logged->number).name("finding").verbatim(auditor::finding_json(*done));
  json.end_object();
  co_return json_answer(200, std::move(answer));
}

}  // namespace

Task<Response> list_audits(const Sources* sources, policy::RequestView /*request*/, Caller /*caller*/) {
  if (sources->audits == nullptr) co_return json_answer(200, R"({"items":[]})");
  const Result<std::vector<auditor::AuditView>> views = co_await sources->audits->view();
  if (!views) co_return error_answer(503, views.error().detail);
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().name("items").begin_array();
  for (const auditor::AuditView& view : *views) write_view(json, view);
  json.end_array().end_object();
  co_return json_answer(200, std::move(body));
}

Task<Response> run_audit(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  const std::optional<boost::json::object> body = object_in(request);
  if (!body) co_return error_answer(400, "the body must be a JSON object");
  Result<auditor::AuditAsked> asked = asked_in(*body);
  if (!asked) co_return error_answer(400, asked.error().detail);
  asked->audit = segment_in(request, above).value_or("");
  const std::string audit = asked->audit;
  if (sources->audits == nullptr) co_return error_answer(404, "this gateway has no [[audit]]");
  const auto& all = sources->audits->audits();
  if (std::ranges::find(all, audit, &config::AuditConfig::name) == all.end()) {
    co_return error_answer(404, "there is no [[audit]] with this name");
  }
  const Result<auditor::AuditOutcome> outcome = co_await sources->audits->run(*std::move(asked));
  if (!outcome) co_return error_answer(outcome.error().code == Code::invalid ? 409 : 503, outcome.error().detail);
  co_return json_answer(200, outcome_json(audit, *outcome));
}

Task<Response> list_findings(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  Result<auditor::FindingFilter> filter = filter_in(request);
  if (!filter) co_return error_answer(400, filter.error().detail);
  if (sources->audits == nullptr) co_return json_answer(200, R"({"items":[],"complete":true})");
  const Result<std::vector<auditor::AuditFinding>> found =
      co_await sources->audits->list(*std::move(filter), items_max + 1);
  if (!found) co_return error_answer(503, found.error().detail);
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().name("items").begin_array();
  for (std::size_t i = 0; i < std::min(found->size(), items_max); ++i) {
    json.verbatim(auditor::finding_json(found->at(i)));
  }
  json.end_array().boolean("complete", found->size() <= items_max).end_object();
  co_return json_answer(200, std::move(body));
}

Task<Response> close_finding(const Sources* sources, policy::RequestView request, Caller caller) {
  co_return co_await act(sources, request, std::move(caller), auditor::FindingState::closed);
}

Task<Response> acknowledge_finding(const Sources* sources, policy::RequestView request, Caller caller) {
  co_return co_await act(sources, request, std::move(caller), auditor::FindingState::acknowledged);
}

}  // namespace semel::admin
