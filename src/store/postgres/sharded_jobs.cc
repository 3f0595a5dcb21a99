// A job is that of its first row, with the figures of all. A database that joined the set after a job was planned has
// no row of it, and no event of it either.
#include "store/postgres/sharded_jobs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/inbox_jobs.h"
#include "store/postgres/jobs.h"
#include <semel/async.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

void add(InboxJob& to, const InboxJob& row) {
  to.taken += row.taken;
  to.done += row.done;
  to.dead += row.dead;
  to.other += row.other;
}

InboxJob* find(std::vector<InboxJob>& rows, std::uint64_t number) {
  const auto found = std::ranges::find(rows, number, &InboxJob::number);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

Async<std::vector<InboxJob>> ShardedJobs::jobs() {
  Result<std::vector<InboxJob>> all;
  for (PostgresJobs* const part : parts_) {
    const Result<std::vector<InboxJob>> rows = co_await part->jobs();
    if (!rows) co_return std::unexpected(rows.error());
    for (const InboxJob& row : *rows) {
      InboxJob* const known = find(*all, row.number);
      if (known == nullptr) all->push_back(row);
      if (known != nullptr) add(*known, row);
    }
  }
  std::ranges::sort(*all, {}, &InboxJob::number);
  co_return all;
}

Async<InboxJob> ShardedJobs::plan(InboxJob job) {
  Result<std::vector<InboxJob>> all = co_await jobs();
  if (!all) co_return std::unexpected(std::move(all.error()));
  const std::uint64_t lowest = all->empty() ? 1 : all->back().number + 1;
  const Result<InboxJob> first = co_await parts_.front()->plan_first(std::move(job), lowest);
  if (!first) co_return std::unexpected(first.error());
  // Read after that: every plan with a lower number is in it, if it can still be started.
  const Result<std::vector<InboxJob>> there = co_await parts_.front()->jobs();
  if (!there) co_return std::unexpected(there.error());
  std::vector<std::uint64_t> known;
  for (const InboxJob& each : *there) known.push_back(each.number);
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    const Result<InboxJob> planned = co_await parts_[i]->plan_after(*first, known);
    if (!planned) co_return std::unexpected(planned.error());
  }
  co_return *first;
}

Async<InboxJob> ShardedJobs::start(JobStart start) {
  for (PostgresJobs* const part : parts_) {
    const Result<std::vector<InboxJob>> rows = co_await part->jobs();
    if (!rows) co_return std::unexpected(rows.error());
    if (std::ranges::find(*rows, start.token, &InboxJob::token) == rows->end()) continue;
    co_return co_await part->start(std::move(start));
  }
  co_return fail(Code::invalid, "token: there is no plan with it; make a new one");
}

Async<InboxJob> ShardedJobs::cancel(std::uint64_t number) {
  std::optional<Result<InboxJob>> decided;
  for (PostgresJobs* const part : parts_) {
    Result<InboxJob> cancelled = co_await part->cancel(number);
    if (!cancelled && cancelled.error().code == Code::unavailable && !decided) co_return cancelled;
    if (!cancelled && cancelled.error().code == Code::invalid) continue;  // it has no row there
    if (decided && *decided && cancelled) add(**decided, *cancelled);
    if (!decided) decided = std::move(cancelled);
  }
  if (!decided) co_return fail(Code::invalid, "there is no such job");
  co_return *std::move(decided);
}

// Its row in each database; number 0 where it has none.
Async<std::vector<InboxJob>> ShardedJobs::rows_of(std::uint64_t number) {
  std::vector<InboxJob> found;
  for (PostgresJobs* const part : parts_) {
    Result<std::vector<InboxJob>> rows = co_await part->jobs();
    if (!rows) co_return std::unexpected(std::move(rows.error()));
    InboxJob* const row = find(*rows, number);
    found.push_back(row == nullptr ? InboxJob{} : std::move(*row));
  }
  co_return found;
}

Async<JobProgress> ShardedJobs::advance(JobTurn turn) {
  Result<std::vector<InboxJob>> read = co_await rows_of(turn.number);
  if (!read) co_return std::unexpected(std::move(read.error()));
  std::vector<InboxJob>& rows = *read;
  const InboxJob* const first = find(rows, turn.number);
  if (first == nullptr) co_return fail(Code::invalid, "there is no such job");
  JobProgress progress;
  const bool runs = first->state == JobState::running;
  for (std::size_t i = parts_.size(); runs && i-- > 0;) {
    if (rows[i].number == 0) continue;
    if (rows[i].state == JobState::planned) {
      JobStart start{.token = first->token, .count = first->count, .reason = first->reason, .who = first->who};
      Result<InboxJob> started = co_await parts_[i]->start_after(std::move(start));
      if (!started) co_return std::unexpected(std::move(started.error()));
      rows[i] = *std::move(started);
    }
    if (rows[i].state != JobState::running) continue;
    Result<JobProgress> there = co_await parts_[i]->advance(turn);
    if (!there) co_return there;
    progress.due = std::move(there->due);
    progress.elsewhere = there->elsewhere;
    rows[i] = std::move(there->job);
    break;
  }
  progress.job = *first;
  progress.job.taken = progress.job.done = progress.job.dead = progress.job.other = 0;
  for (const InboxJob& row : rows) {
    add(progress.job, row);
    progress.job.searched = std::max(progress.job.searched, row.searched);
  }
  co_return progress;
}

}  // namespace semel::store::postgres
