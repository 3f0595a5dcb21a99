// The order of columns and parameters is that of the functions in schema_4_job*.cc.
#include "store/postgres/jobs.h"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include "core/event_id.h"
#include "store/desk.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include "store/postgres/holder_book.h"
#include "store/postgres/inbox_statements.h"
#include "store/postgres/parameters.h"
#include "store/postgres/sql.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr Millis any_age{std::int64_t{1} << 60U};

enum JobColumn : std::uint8_t {
  job_number,
  job_state,
  job_action,
  job_only_state,
  job_only_source,
  job_only_dest,
  job_only_type,
  job_only_object,
  job_only_from,
  job_only_until,
  job_only_why,
  job_rate,
  job_rate_ms,
  job_token,
  job_planned,
  job_at_least,
  job_reason,
  job_who,
  job_planned_at,
  job_started_at,
  job_ended_at,
  job_searched,
  job_taken,
  job_done,
  job_dead,
  job_other,
  job_verdict,
  job_due
};

// A row of the type semel.inbox_job_4.
class JobRow {
 public:
  JobRow(const PGresult* reply, int row) : reply_(reply), row_(row) {}

  [[nodiscard]] bool has(JobColumn column) const { return PQgetisnull(reply_, row_, column) == 0; }
  [[nodiscard]] std::string text(JobColumn column) const { return std::string(value_of(reply_, row_, column)); }
  [[nodiscard]] std::uint64_t number(JobColumn column) const {
    return static_cast<std::uint64_t>(number_of(value_of(reply_, row_, column)));
  }
  [[nodiscard]] Time moment(JobColumn column) const { return inbox_time(number_of(value_of(reply_, row_, column))); }
  [[nodiscard]] std::optional<std::string> choice(JobColumn column) const {
    return has(column) ? std::optional(text(column)) : std::nullopt;
  }
  [[nodiscard]] InboxJob job() const;

 private:
  [[nodiscard]] JobScope scope() const;

  const PGresult* reply_;
  int row_;
};

JobScope JobRow::scope() const {
  JobScope scope;
  DeliveryFilter& filter = scope.filter;
  scope.action = static_cast<JobAction>(number(job_action));
  if (has(job_only_state)) filter.state = static_cast<DeliveryState>(number(job_only_state));
  filter.source = choice(job_only_source);
  filter.to = choice(job_only_dest);
  filter.type = choice(job_only_type);
  scope.why = choice(job_only_why);
  if (const std::string object = text(job_only_object); object.size() == ScopeDigest{}.size()) {
    std::ranges::copy(object, filter.object.emplace().begin());
  }
  if (has(job_only_from)) filter.from = moment(job_only_from);
  if (has(job_only_until)) filter.until = moment(job_only_until);
  return scope;
}

InboxJob JobRow::job() const {
  InboxJob job;
  job.number = number(job_number);
  job.state = static_cast<JobState>(number(job_state));
  job.scope = scope();
  job.rate = static_cast<std::uint32_t>(number(job_rate));
  job.rate_per = Millis{static_cast<Millis::rep>(number(job_rate_ms))};
  job.token = text(job_token);
  job.count = number(job_planned);
  job.at_least = text(job_at_least) == std::string_view("\x01", 1);
  job.reason = text(job_reason);
  job.who = text(job_who);
  job.planned_at = moment(job_planned_at);
  job.started_at = moment(job_started_at);
  job.ended_at = moment(job_ended_at);
  job.searched = core::EventId::from_bytes(text(job_searched)).value_or(core::EventId{});
  job.taken = number(job_taken);
  job.done = number(job_done);
  job.dead = number(job_dead);
  job.other = number(job_other);
  return job;
}

void add_text(Parameters& parameters, const std::optional<std::string>& text) {
  if (text) parameters.add(*text);
  if (!text) parameters.add_null_text();
}

void add_bytes(Parameters& parameters, const std::optional<std::string>& bytes) {
  if (bytes) parameters.add_bytes(*bytes);
  if (!bytes) parameters.add_null_bytes();
}

std::optional<std::int64_t> millis_of(const std::optional<Time>& time) {
  return time ? std::optional(inbox_millis(*time)) : std::nullopt;
}

std::int64_t signed_of(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

void add_scope(Parameters& parameters, const JobScope& scope) {
  const DeliveryFilter& filter = scope.filter;
  parameters.add(static_cast<std::int64_t>(scope.action));
  parameters.add_number(filter.state ? std::optional(static_cast<std::int64_t>(*filter.state)) : std::nullopt);
  add_text(parameters, filter.source);
  add_text(parameters, filter.to);
  add_bytes(parameters, filter.type);
  std::optional<std::string> object;
  if (filter.object) object.emplace(reinterpret_cast<const char*>(filter.object->data()), filter.object->size());
  add_bytes(parameters, object);
  parameters.add_number(millis_of(filter.from));
  parameters.add_number(millis_of(filter.until));
  add_bytes(parameters, scope.why);
}

// The one row of an answer, and what is said of it.
struct OneJob {
  std::optional<InboxJob> job;
  std::uint64_t verdict = 0;
};

OneJob one_job(const PGresult* reply) {
  if (PQntuples(reply) == 0) return {};
  const JobRow row(reply, 0);
  return {.job = row.job(), .verdict = row.number(job_verdict)};
}

}  // namespace

Async<InboxJob> PostgresJobs::keep(InboxJob job, Numbering numbering) {
  const auto fill = [&](Parameters& parameters) {
    parameters.add(signed_of(numbering.lowest));
    parameters.add_number(numbering.known ? std::optional(signed_of(job.number)) : std::nullopt);
    const std::vector<std::uint64_t> known = numbering.known.value_or(std::vector<std::uint64_t>{});
    Array numbers(Element::int8, known.size());
    for (const std::uint64_t each : known) numbers.add_unsigned(each);
    parameters.add(std::move(numbers));
    add_scope(parameters, job.scope);
    parameters.add(static_cast<std::int64_t>(job.rate));
    parameters.add(static_cast<std::int64_t>(job.rate_per.count()));
    parameters.add(job.token);
    parameters.add(signed_of(job.count));
    parameters.add_flag(job.at_least ? 1 : 0);
    parameters.add(static_cast<std::int64_t>(kept_max));
    parameters.add(static_cast<std::int64_t>(plan_kept_for.count()));
  };
  OneJob planned;
  PlainStep step(plan_job_sql, fill, [&](const PGresult* reply) { planned = one_job(reply); });
  const Result<void> asked = co_await inbox_.ask_aside(&step);
  if (!asked) co_return std::unexpected(asked.error());
  if (!planned.job) co_return fail(Code::full, "there are too many jobs that have not ended");
  co_return *std::move(planned.job);
}

Async<InboxJob> PostgresJobs::plan(InboxJob job) {
  return keep(std::move(job), {});
}

Async<InboxJob> PostgresJobs::plan_first(InboxJob job, std::uint64_t lowest) {
  return keep(std::move(job), {.lowest = lowest});
}

Async<InboxJob> PostgresJobs::plan_after(InboxJob job, std::vector<std::uint64_t> known) {
  return keep(std::move(job), {.lowest = 1, .known = std::move(known)});
}

Async<InboxJob> PostgresJobs::start(JobStart start) {
  return begin(std::move(start), plan_kept_for);
}

Async<InboxJob> PostgresJobs::start_after(JobStart start) {
  return begin(std::move(start), any_age);
}

Async<InboxJob> PostgresJobs::begin(JobStart start, Millis age_max) {
  const auto fill = [&](Parameters& parameters) {
    parameters.add(start.token);
    parameters.add(signed_of(start.count));
    parameters.add_bytes(start.reason);
    parameters.add_bytes(start.who);
    parameters.add(static_cast<std::int64_t>(age_max.count()));
  };
  OneJob started;
  PlainStep step(start_job_sql, fill, [&](const PGresult* reply) { started = one_job(reply); });
  const Result<void> asked = co_await inbox_.ask_aside(&step);
  if (!asked) co_return std::unexpected(asked.error());
  if (!started.job) co_return fail(Code::invalid, "token: there is no plan with it; make a new one");
  if (started.verdict == 1) {
    co_return fail(Code::invalid, "count: the plan says " + std::to_string(started.job->count));
  }
  if (started.verdict == 2) co_return fail(Code::invalid, "token: the plan is too old; make a new one");
  co_return *std::move(started.job);
}

Async<InboxJob> PostgresJobs::cancel(std::uint64_t number) {
  const auto fill = [&](Parameters& parameters) { parameters.add(signed_of(number)); };
  OneJob cancelled;
  PlainStep step(cancel_job_sql, fill, [&](const PGresult* reply) { cancelled = one_job(reply); });
  const Result<void> asked = co_await inbox_.ask_aside(&step);
  if (!asked) co_return std::unexpected(asked.error());
  if (!cancelled.job) co_return fail(Code::invalid, "there is no such job");
  if (cancelled.verdict == 1) {
    co_return fail(Code::fenced, "the job is " + std::string(name(cancelled.job->state)));
  }
  co_return *std::move(cancelled.job);
}

Async<std::vector<InboxJob>> PostgresJobs::jobs() {
  std::vector<InboxJob> all;
  const auto see = [&](const PGresult* reply) {
    for (int row = 0; row < PQntuples(reply); ++row) all.push_back(JobRow(reply, row).job());
  };
  PlainStep step(jobs_sql, [](Parameters&) {}, see);
  const Result<void> asked = co_await inbox_.ask_aside(&step);
  if (!asked) co_return std::unexpected(asked.error());
  co_return all;
}

Async<JobProgress> PostgresJobs::advance(JobTurn turn) {
  const Result<HolderBook::Beat> me = co_await inbox_.as_holder();
  if (!me) co_return std::unexpected(me.error());
  const auto fill = [&](Parameters& parameters) {
    parameters.add(static_cast<std::int64_t>(me->holder));
    parameters.add_bytes(std::string(me->floor.view()));
    parameters.add(signed_of(turn.number));
    parameters.add(static_cast<std::int64_t>(turn.limit));
    parameters.add(static_cast<std::int64_t>(looks_max));
    parameters.add(static_cast<std::int64_t>(list_time_max.count()));
    parameters.add(static_cast<std::int64_t>(turn.retain_ended.count()));
  };
  OneJob advanced;
  JobProgress progress;
  const auto see = [&](const PGresult* reply) {
    advanced = one_job(reply);
    for (int row = 1; row < PQntuples(reply); ++row) progress.due.push_back(JobRow(reply, row).text(job_due));
  };
  PlainStep step(advance_job_sql, fill, see);
  const Result<void> asked = co_await inbox_.ask_aside(&step);
  if (!asked) co_return std::unexpected(asked.error());
  if (advanced.verdict == 2) {
    inbox_.was_taken_for_dead(me->holder);
    co_return fail(Code::unavailable, "this gateway was taken for dead by another, and goes on as a new one");
  }
  if (!advanced.job) co_return fail(Code::invalid, "there is no such job");
  progress.elsewhere = advanced.verdict == 1;
  progress.job = *std::move(advanced.job);
  co_return progress;
}

}  // namespace semel::store::postgres
