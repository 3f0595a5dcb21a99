// The calls of bulk work. To search is left to a reader, so that those who commit wait only for what is changed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/call.h"
#include "store/desk.h"
#include "store/inbox.h"
#include "store/inbox_book.h"
#include "store/inbox_codec.h"
#include "store/inbox_front.h"
#include "store/inbox_jobs.h"
#include "store/inbox_step.h"
#include "store/inbox_table.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {
namespace {

// The next events that the job is about, until they have `limit` deliveries for it.
Result<void> search(InboxReader& reader, const InboxJob& job, std::size_t limit, InboxBook::JobFind& find) {
  const std::optional<Time>& until = job.scope.filter.until;
  std::size_t looked = 0;
  std::size_t targets = 0;
  find.after = find.searched = job.searched;
  find.complete = true;
  const auto see = [&](std::string_view key, std::string_view value) {
    const std::optional<core::EventId> id = id_behind_tag(key);
    if (!id || *id <= job.searched) return true;
    if (until && id->accepted_at() >= *until) return false;
    if (targets >= limit || looked >= looks_max) {
      find.complete = false;
      return false;
    }
    ++looked;
    const Result<AcceptedEvent> event = decode_event(value, *id);
    const std::size_t more = event ? targets_of(job.scope, *event).size() : 0;  // the auditor tells of what is damaged
    if (more > 0) find.found.push_back(*id);
    targets += more;
    find.searched = *id;
    return true;
  };
  const core::EventId first = core::EventId::first_at(job.scope.filter.from.value_or(Time{}));
  return reader.walk(event_key(std::max(first, job.searched)), event_prefix, see);
}

}  // namespace

Async<InboxJob> InboxFront::plan(InboxJob job) {
  std::optional<InboxJob> done;
  InboxCall call;
  call.step = [&](InboxBook& book, InboxTable& table, KeyRecords&, Time now) {
    return kept(book.plan_job(table, std::move(job), now), done);
  };
  co_await make(&call);
  co_return answer_of(call, done);
}

Async<InboxJob> InboxFront::start(JobStart start) {
  std::optional<InboxJob> done;
  InboxCall call;
  call.step = [&](InboxBook& book, InboxTable& table, KeyRecords&, Time now) {
    return kept(book.start_job(table, start, now), done);
  };
  co_await make(&call);
  co_return answer_of(call, done);
}

Async<InboxJob> InboxFront::cancel(std::uint64_t number) {
  std::optional<InboxJob> done;
  InboxCall call;
  call.step = [&](InboxBook& book, InboxTable& table, KeyRecords&, Time now) {
    return kept(book.cancel_job(table, number, now), done);
  };
  co_await make(&call);
  co_return answer_of(call, done);
}

Async<std::vector<InboxJob>> InboxFront::jobs() {
  Result<std::vector<InboxJob>> found;
  const auto look = [&](InboxReader& reader) -> Result<void> {
    found = read_jobs(reader);
    return {};
  };
  Result<void> answer;
  co_await read(look, &answer, Extent::brief);
  co_return found;
}

Async<JobProgress> InboxFront::advance(JobTurn turn) {
  std::optional<InboxJob> job;
  InboxBook::JobFind find;
  const auto look = [&](InboxReader& reader) -> Result<void> {
    Result<std::optional<InboxJob>> found = read_job(reader, turn.number);
    if (!found) return std::unexpected(std::move(found.error()));
    job = *std::move(found);
    if (!job || job->state != JobState::running) return {};
    return search(reader, *job, turn.limit, find);
  };
  Result<void> answer;
  co_await read(look, &answer, Extent::list);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  if (!job) co_return fail(Code::invalid, "there is no such job");
  if (job->state != JobState::running) {
    JobProgress idle{.job = *std::move(job), .due = {}};
    co_return idle;
  }
  std::optional<JobProgress> done;
  InboxCall call;
  call.step = [&](InboxBook& book, InboxTable& table, KeyRecords&, Time now) {
    return kept(book.advance_job(table, turn, find, now), done);
  };
  co_await make(&call);
  co_return answer_of(call, done);
}

}  // namespace semel::store
