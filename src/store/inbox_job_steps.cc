// The steps of a job, over the table of an inbox: kept as a plan, started, moved on, cancelled.
//
// What a step does to deliveries and how far the job is are changes of one table, so they become durable together.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_book.h"
#include "store/inbox_codec.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include "store/inbox_table.h"
#include "store/inbox_unread.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {
namespace {

bool has_ended(JobState state) {
  return state == JobState::done || state == JobState::cancelled;
}

bool is_open(DeliveryState state) {
  return state == DeliveryState::waiting || state == DeliveryState::running;
}

std::string words_of(const InboxJob& job) {
  return "job " + std::to_string(job.number) + ": " + job.reason;
}

void put_job(InboxTable& table, const InboxJob& job) {
  table.put(job_key(job.number), encode_job(job));
}

std::uint64_t& ending_of(InboxJob& job, DeliveryState state) {
  if (state == DeliveryState::done) return job.done;
  return state == DeliveryState::dead ? job.dead : job.other;
}

void want(JobProgress& progress, const DeliveryRecord& delivery) {
  if (delivery.state != DeliveryState::waiting) return;
  if (std::ranges::find(progress.due, delivery.to) == progress.due.end()) progress.due.push_back(delivery.to);
}

}  // namespace

Result<std::vector<InboxJob>> read_jobs(InboxReader& reader) {
  std::vector<InboxJob> jobs;
  std::optional<Error> failed;
  const auto see = [&](std::string_view, std::string_view value) {
    Result<InboxJob> job = decode_job(value);
    if (!job) failed = job.error();
    if (job) jobs.push_back(*std::move(job));
    return !failed;
  };
  const Result<void> walked = reader.walk(job_prefix, job_prefix, see);
  if (!walked) return std::unexpected(walked.error());
  if (failed) return std::unexpected(*std::move(failed));
  return jobs;
}

Result<std::optional<InboxJob>> read_job(InboxReader& reader, std::uint64_t number) {
  const Result<std::optional<std::string>> read = reader.get(job_key(number));
  if (!read) return std::unexpected(read.error());
  const std::optional<std::string>& bytes = *read;
  if (!bytes) return std::nullopt;
  Result<InboxJob> job = decode_job(*bytes);
  if (!job) return std::unexpected(std::move(job.error()));
  return *std::move(job);
}

Result<void> count_for_job(InboxTable& table, const DeliveryRecord& delivery, const DeliveryRecord& from) {
  const bool ends = from.job != 0 && is_open(from.state) && (delivery.job != from.job || !is_open(delivery.state));
  if (!ends) return {};
  Result<std::optional<InboxJob>> read = read_job(table, from.job);
  if (!read && read.error().code == Code::corrupt) return {};  // its figures are lost; the delivery goes on
  if (!read) return std::unexpected(std::move(read.error()));
  std::optional<InboxJob>& job = *read;
  if (!job) return {};
  ++ending_of(*job, delivery.job == from.job ? delivery.state : DeliveryState::discarded);
  put_job(table, *job);
  return {};
}

// A number is never used twice: the newest job stays, and what carries the number of a job is younger than its start.
Result<InboxJob> InboxBook::plan_job(InboxTable& table, InboxJob job, Time now) {
  const Result<std::vector<InboxJob>> read = read_jobs(table);
  if (!read) return std::unexpected(read.error());
  const std::vector<InboxJob>& jobs = *read;
  std::size_t left = jobs.size();
  std::vector<std::uint64_t> goes;
  for (const InboxJob& each : jobs) {
    const bool stale = each.state == JobState::planned && each.planned_at + InboxJobs::plan_kept_for <= now;
    const bool old = has_ended(each.state) && left >= InboxJobs::kept_max;
    if (!stale && !old) continue;
    goes.push_back(each.number);
    --left;
  }
  if (left >= InboxJobs::kept_max) return fail(Code::full, "there are too many jobs that have not ended");
  for (const std::uint64_t number : goes) table.erase(job_key(number));
  job.number = jobs.empty() ? 1 : jobs.back().number + 1;
  job.state = JobState::planned;
  job.planned_at = now;
  put_job(table, job);
  return job;
}

Result<InboxJob> InboxBook::start_job(InboxTable& table, const JobStart& start, Time now) {
  Result<std::vector<InboxJob>> read = read_jobs(table);
  if (!read) return std::unexpected(std::move(read.error()));
  const auto found = std::ranges::find(*read, start.token, &InboxJob::token);
  if (found == read->end()) return fail(Code::invalid, "token: there is no plan with it; make a new one");
  InboxJob& job = *found;
  if (job.count != start.count) {
    return fail(Code::invalid, "count: the plan says " + std::to_string(job.count));
  }
  if (job.state != JobState::planned) return std::move(job);
  if (job.planned_at + InboxJobs::plan_kept_for <= now) {
    return fail(Code::invalid, "token: the plan is too old; make a new one");
  }
  job.state = JobState::running;
  job.started_at = now;
  job.reason = start.reason;
  job.who = start.who;
  put_job(table, job);
  return std::move(job);
}

Result<InboxJob> InboxBook::cancel_job(InboxTable& table, std::uint64_t number, Time now) {
  Result<std::optional<InboxJob>> read = read_job(table, number);
  if (!read) return std::unexpected(std::move(read.error()));
  std::optional<InboxJob>& job = *read;
  if (!job) return fail(Code::invalid, "there is no such job");
  if (has_ended(job->state)) return fail(Code::fenced, "the job is " + std::string(name(job->state)));
  job->state = JobState::cancelled;
  job->ended_at = now;
  put_job(table, *job);
  return *std::move(job);
}

Result<JobProgress> InboxBook::advance_job(InboxTable& table, const JobTurn& turn, const JobFind& find, Time now) {
  Result<std::optional<InboxJob>> read = read_job(table, turn.number);
  if (!read) return std::unexpected(std::move(read.error()));
  std::optional<InboxJob>& job = *read;
  if (!job) return fail(Code::invalid, "there is no such job");
  JobProgress progress{.job = *std::move(job), .due = {}};
  const bool current = progress.job.state == JobState::running && progress.job.searched == find.after;
  if (!current) return progress;
  for (const core::EventId& id : find.found) {
    Result<std::optional<AcceptedEvent>> event = read_event(table, id);
    if (!event) {
      const Result<void> without = go_on_without(InboxUnread::name_of(id), event.error(), now);
      if (!without) return std::unexpected(without.error());
      event = std::nullopt;
    }
    std::optional<AcceptedEvent>& found = *event;
    const Result<bool> worked = found ? work_on(table, *std::move(found), turn, progress, now) : Result<bool>(true);
    if (!worked) return std::unexpected(worked.error());
    if (!*worked) {
      put_job(table, progress.job);
      return progress;
    }
    progress.job.searched = id;
  }
  progress.job.searched = find.searched;
  if (find.complete) progress.job.state = JobState::done;
  if (find.complete) progress.job.ended_at = now;
  put_job(table, progress.job);
  return progress;
}

// Whether the event is still one of the job's is asked again: it was found a moment ago, without a lock.
Result<bool> InboxBook::work_on(InboxTable& table, AcceptedEvent event, const JobTurn& turn, JobProgress& progress,
                                Time now) {
  InboxJob& job = progress.job;
  const std::vector<std::size_t> targets = targets_of(job.scope, event);
  if (targets.empty()) return true;
  if (job.scope.action == JobAction::backfill) {
    const Result<void> given = backfill(table, std::move(event), progress, now);
    if (!given) return std::unexpected(given.error());
    return true;
  }
  if (job.scope.action == JobAction::erase) {
    const auto runs = [](const DeliveryRecord& each) { return each.state == DeliveryState::running; };
    if (std::ranges::any_of(event.deliveries, runs)) return false;
    ++job.taken;
    const Result<bool> erased = erase(table, event.id, words_of(job), now);
    if (!erased) return std::unexpected(erased.error());
    return true;
  }
  DeliveryChange change;
  change.reason = words_of(job);
  change.what = job.scope.action == JobAction::replay ? DeliveryChange::What::redeliver : DeliveryChange::What::discard;
  for (const std::size_t at : targets) {
    DeliveryRecord& delivery = event.deliveries[at];
    if (delivery.job == job.number) continue;
    const DeliveryRecord from = delivery;
    apply_change(delivery, change, now);
    delivery.job = job.number;
    const Result<void> stored = store(table, event, delivery, from, turn.retain_ended, now);
    if (!stored) return std::unexpected(stored.error());
    ++job.taken;
    want(progress, delivery);
  }
  return true;
}

Result<void> InboxBook::backfill(InboxTable& table, AcceptedEvent event, JobProgress& progress, Time now) {
  InboxJob& job = progress.job;
  const AcceptOrder::To to{.name = job.scope.filter.to.value_or(""), .room = false, .skipped_by = {}};
  DeliveryRecord delivery{
      .to = to.name, .urgency = Urgency::replay, .since = now, .changed = now, .why = words_of(job), .job = job.number};
  Result<void> chosen = choose_state(table, event, to, delivery, now);
  if (!chosen) return chosen;
  figures_.accepted(event, delivery);
  if (delivery.state == DeliveryState::waiting && !delivery.in_line) let_wait(table, event.id, delivery);
  ++job.taken;
  if (!is_open(delivery.state)) ++ending_of(job, delivery.state);
  want(progress, delivery);
  event.deliveries.push_back(std::move(delivery));
  table.put(event_key(event.id), encode_event(event));
  return {};
}

}  // namespace semel::store
