// Bulk work on the inbox: planned, with a count and a sample; started with the plan's token; watched and cancelled.
#include "store/inbox_jobs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
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
#include "admin/job_request.h"
#include "admin/key_json.h"
#include "admin/sources.h"
#include "core/encoding.h"
#include "core/event_id.h"
#include "core/json/writer.h"
#include "core/seal.h"
#include "gateway/dispatcher.h"
#include "gateway/job_runner.h"
#include "policy/request_view.h"
#include "store/audit_log.h"
#include "store/identity.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

constexpr std::uint64_t count_max = 100'000;  // then it is "at least so many"
constexpr std::size_t piece = 1'000;
constexpr std::size_t sample_max = 10;
constexpr Millis survey_time_max{5'000};
constexpr Time far_future{Millis{253'402'300'799'000}};
constexpr std::string_view no_jobs = "the inbox of this store has no jobs";

struct Survey {
  std::uint64_t count = 0;
  bool at_least = false;
  std::vector<store::TakenDelivery> sample;
};

gateway::JobRunner* jobs_of(const Sources& sources) {
  return sources.dispatcher == nullptr || sources.audit == nullptr ? nullptr : sources.dispatcher->jobs();
}

// By the clock of the store, from which the ids of its events come.
Task<Result<Time>> store_time(const Sources* sources) {
  store::DeliveryFilter nothing;
  nothing.from = far_future;
  const Result<store::DeliveryList> list = co_await sources->dispatcher->desk().list(nothing, std::string());
  if (!list) co_return std::unexpected(list.error());
  co_return list->searched_to;
}

// Adds what a piece of a list holds for the job. An event with several deliveries stands in it several times.
void add(const store::JobScope& scope, const store::DeliveryList& list, core::EventId& last, Survey& survey) {
  for (const store::TakenDelivery& item : list.items) {
    if (item.event.id == last) continue;
    last = item.event.id;
    const std::vector<std::size_t> targets = targets_of(scope, item.event);
    survey.count += targets.size();
    for (const std::size_t at : targets) {
      if (survey.sample.size() >= sample_max) break;
      survey.sample.push_back({.event = item.event, .at = std::min(at, item.event.deliveries.size() - 1)});
    }
  }
}

Task<Result<Survey>> survey_of(const Sources* sources, store::JobScope scope) {
  store::DeliveryFilter filter = scope.filter;
  filter.items_max = piece;
  if (scope.action == store::JobAction::backfill) filter.to.reset();
  scope.filter.object.reset();  // the list goes by it; a store may name objects in its own way
  Survey survey;
  core::EventId last;
  std::string cursor;
  const Time began = sources->clock->now();
  do {
    Result<store::DeliveryList> list = co_await sources->dispatcher->desk().list(filter, std::move(cursor));
    if (!list) co_return std::unexpected(list.error());
    add(scope, *list, last, survey);
    cursor = std::move(list->cursor);
    const bool late = sources->clock->now() - began >= survey_time_max;
    survey.at_least = !cursor.empty() && (survey.count >= count_max || late);
  } while (!cursor.empty() && !survey.at_least);
  co_return survey;
}

std::string act_text(const Caller& caller, std::string_view act, const store::InboxJob& job, std::string_view reason,
                     Time at) {
  std::string text;
  core::json::JsonWriter json(text);
  json.begin_object().text("at", time_text(at)).bytes("act", act).text("job", std::to_string(job.number));
  json.text("action", name(job.scope.action));
  write_job_filter(json.name("filter"), job.scope);
  json.number("count", job.count).boolean("at_least", job.at_least).text("role", name_of(caller.role));
  json.bytes("who", caller.name).bytes("from", caller.from).bytes("reason", reason).end_object();
  return text;
}

std::string outcome_text(std::uint64_t of, const Result<store::InboxJob>& done, Time at) {
  std::string text;
  core::json::JsonWriter json(text);
  json.begin_object().text("at", time_text(at)).number("of", of);
  json.bytes("outcome", done ? "applied" : "not applied: " + done.error().detail).end_object();
  return text;
}

Response acted(std::uint64_t audit, const store::InboxJob& job) {
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().number("audit", audit);
  write_job(json.name("job"), job);
  json.end_object();
  return json_answer(200, std::move(body));
}

Response refused(const Error& error) {
  if (error.code == Code::invalid || error.code == Code::fenced) return error_answer(409, error.detail);
  return error_answer(503, "it is not known whether this was done: " + error.detail);
}

Task<Response> plan_job(const Sources* sources, const boost::json::object* body) {
  const Result<Time> now = co_await store_time(sources);
  if (!now) co_return error_answer(503, now.error().detail);
  Result<store::InboxJob> job = job_in(*sources->config(), *body, *now + Millis{1});
  if (!job) co_return error_answer(400, job.error().detail);
  const Result<Survey> survey = co_await survey_of(sources, job->scope);
  if (!survey) co_return error_answer(503, survey.error().detail);
  job->count = survey->count;
  job->at_least = survey->at_least;
  const core::Salt salt = store::random_salt();
  job->token = core::to_hex({reinterpret_cast<const char*>(salt.data()), salt.size()});
  const Result<store::InboxJob> planned = co_await jobs_of(*sources)->jobs().plan(*std::move(job));
  if (!planned) co_return error_answer(503, planned.error().detail);
  std::string answer;
  core::json::JsonWriter json(answer);
  json.begin_object().text("token", planned->token).number("count", planned->count);
  json.boolean("at_least", planned->at_least);
  json.text("expires_at", time_text(planned->planned_at + store::InboxJobs::plan_kept_for));
  json.name("sample").begin_array();
  for (const store::TakenDelivery& each : survey->sample)
    write_delivery(json, each.event, each.event.deliveries[each.at]);
  json.end_array();
  write_job(json.name("job"), *planned);
  json.end_object();
  co_return json_answer(200, std::move(answer));
}

Task<Response> start_job(const Sources* sources, const boost::json::object* body, const Caller* caller) {
  const std::string token = text_in(*body, "token").value_or("");
  Result<std::string> reason = reason_in(*body);
  if (!reason) co_return error_answer(400, reason.error().detail);
  const boost::json::value* const count = body->if_contains("count");
  const bool counted = count != nullptr && (count->is_uint64() || (count->is_int64() && count->get_int64() >= 0));
  if (!counted) co_return error_answer(400, "count: must be the number that the plan says");
  store::JobStart start{
      .token = token,
      .count = count->is_uint64() ? count->get_uint64() : static_cast<std::uint64_t>(count->get_int64()),
      .reason = *reason,
      .who = caller->name};
  store::InboxJobs& jobs = jobs_of(*sources)->jobs();
  const Result<std::vector<store::InboxJob>> all = co_await jobs.jobs();
  if (!all) co_return error_answer(503, all.error().detail);
  const auto plan = std::ranges::find(*all, token, &store::InboxJob::token);
  if (plan == all->end()) co_return error_answer(404, "token: there is no plan with it; make a new one");
  if (plan->count != start.count) {
    co_return error_answer(409, "count: the plan says " + std::to_string(plan->count));
  }
  std::string text = act_text(*caller, "start job", *plan, *reason, sources->now());
  const Result<store::AuditEntry> logged = co_await sources->audit->append(std::move(text));
  if (!logged) {
    co_return error_answer(503, "nothing was done, because the audit log cannot be written: " + logged.error().detail);
  }
  const Result<store::InboxJob> started = co_await jobs.start(std::move(start));
  std::string second = outcome_text(logged->number, started, sources->now());
  static_cast<void>(co_await sources->audit->append(std::move(second)));  // what was done can be seen at the job
  if (!started) co_return refused(started.error());
  jobs_of(*sources)->look();
  co_return acted(logged->number, *started);
}

Task<Result<std::optional<store::InboxJob>>> find_job(const Sources* sources, std::uint64_t number) {
  const Result<std::vector<store::InboxJob>> all = co_await jobs_of(*sources)->jobs().jobs();
  if (!all) co_return std::unexpected(all.error());
  const auto found = std::ranges::find(*all, number, &store::InboxJob::number);
  co_return found == all->end() ? std::nullopt : std::optional(*found);
}

}  // namespace

Task<Response> plan_or_start_job(const Sources* sources, policy::RequestView request, Caller caller) {
  if (jobs_of(*sources) == nullptr) co_return error_answer(501, no_jobs);
  const std::optional<boost::json::object> body = object_in(request);
  if (!body) co_return error_answer(400, "the body must be a JSON object");
  if (!body->contains("token")) co_return co_await plan_job(sources, &*body);
  co_return co_await start_job(sources, &*body, &caller);
}

Task<Response> list_jobs(const Sources* sources, policy::RequestView /*request*/, Caller /*caller*/) {
  std::vector<store::InboxJob> jobs;
  if (jobs_of(*sources) != nullptr) {  // without an inbox there is none
    Result<std::vector<store::InboxJob>> all = co_await jobs_of(*sources)->jobs().jobs();
    if (!all) co_return error_answer(503, all.error().detail);
    jobs = *std::move(all);
  }
  std::ranges::reverse(jobs);
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().name("items").begin_array();
  for (const store::InboxJob& job : jobs) {
    if (job.state != store::JobState::planned) write_job(json, job);
  }
  json.end_array().text("cursor", "").text("searched_to", time_text(sources->now())).boolean("complete", true);
  json.end_object();
  co_return json_answer(200, std::move(body));
}

Task<Response> show_job(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  if (jobs_of(*sources) == nullptr) co_return error_answer(501, no_jobs);
  const std::optional<std::uint64_t> number = job_number_in(request);
  if (!number) co_return error_answer(400, "id: must be the number of a job");
  const Result<std::optional<store::InboxJob>> found = co_await find_job(sources, *number);
  if (!found) co_return error_answer(503, found.error().detail);
  const std::optional<store::InboxJob>& job = *found;
  if (!job) co_return error_answer(404, "there is no such job");
  std::string body;
  core::json::JsonWriter json(body);
  write_job(json, *job);
  co_return json_answer(200, std::move(body));
}

Task<Response> cancel_job(const Sources* sources, policy::RequestView request, Caller caller) {
  if (jobs_of(*sources) == nullptr) co_return error_answer(501, no_jobs);
  const std::optional<std::uint64_t> number = job_number_in(request);
  if (!number) co_return error_answer(400, "id: must be the number of a job");
  const std::optional<boost::json::object> body = object_in(request);
  if (!body) co_return error_answer(400, "the body must be a JSON object");
  const Result<std::string> reason = reason_in(*body);
  if (!reason) co_return error_answer(400, reason.error().detail);
  const Result<std::optional<store::InboxJob>> found = co_await find_job(sources, *number);
  if (!found) co_return error_answer(503, found.error().detail);
  const std::optional<store::InboxJob>& job = *found;
  if (!job) co_return error_answer(404, "there is no such job");
  std::string text = act_text(caller, "cancel job", *job, *reason, sources->now());
  const Result<store::AuditEntry> logged = co_await sources->audit->append(std::move(text));
  if (!logged) {
    co_return error_answer(503, "nothing was done, because the audit log cannot be written: " + logged.error().detail);
  }
  const Result<store::InboxJob> cancelled = co_await jobs_of(*sources)->jobs().cancel(*number);
  std::string second = outcome_text(logged->number, cancelled, sources->now());
  static_cast<void>(co_await sources->audit->append(std::move(second)));
  if (!cancelled) co_return refused(cancelled.error());
  jobs_of(*sources)->look();
  co_return acted(logged->number, *cancelled);
}

}  // namespace semel::admin
