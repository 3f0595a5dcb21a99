// Bulk work on an inbox: many deliveries sent again or discarded, earlier events given to a new destination, bodies
// erased. A job is durable, and goes on after a crash where it was.
//
//   plan() ──▶ planned ── start(), with its token and count ──▶ running ──▶ done
//                                                                  └── cancel() ──▶ cancelled
//
// What a job is about is fixed when it is planned, with the time before which its events came. It goes through the
// events in the order of their ids. How far it is moves in the same durable step as the deliveries that it takes, and
// each of those carries its number: none is taken twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::store {

enum class JobAction : std::uint8_t {
  replay = 1,    // another attempt of each delivery that is not running and whose body is kept
  discard = 2,   // ends those that wait, are dead or unknown
  backfill = 3,  // gives events to `filter.to`, if they have never gone there and their body is kept
  erase = 4,     // drops the bodies of events; waits for attempts that run
};
enum class JobState : std::uint8_t { planned = 1, running = 2, done = 3, cancelled = 4 };

std::string_view name(JobAction action);
std::optional<JobAction> job_action(std::string_view name);
std::string_view name(JobState state);

struct JobScope {
  JobAction action = JobAction::replay;
  DeliveryFilter filter;           // of backfill, `to` is where events are to go
  std::optional<std::string> why;  // only deliveries that have these words
};

// What the job does something to: positions among the deliveries of the event. Of backfill the one that is to be made;
// of erase the first, for the event. Empty if the job is not about this event. The same rule counts and acts.
std::vector<std::size_t> targets_of(const JobScope& scope, const AcceptedEvent& event);

struct InboxJob {
  std::uint64_t number = 0;  // from 1 on
  JobState state = JobState::planned;
  JobScope scope;
  std::uint32_t rate = 0;  // deliveries each `rate_per`; 0: no limit
  Millis rate_per{1'000};
  std::string token;  // random, of the plan
  std::uint64_t count = 0;
  bool at_least = false;  // there are more than `count`
  std::string reason;
  std::string who;
  Time planned_at{};
  Time started_at{};
  Time ended_at{};
  core::EventId searched;   // events up to this one have been looked at
  std::uint64_t taken = 0;  // deliveries; of erase, events
  // Of those that were sent: how the first end of each was.
  std::uint64_t done = 0;
  std::uint64_t dead = 0;
  std::uint64_t other = 0;
};

// Deliveries that it sent and that have not ended yet.
std::uint64_t open_of(const InboxJob& job);

struct JobStart {
  std::string token;
  std::uint64_t count = 0;  // as the plan has it
  std::string reason;
  std::string who;
};

struct JobTurn {
  std::uint64_t number = 0;
  std::size_t limit = 0;   // takes about so many
  Millis retain_ended{0};  // of those that end
};
struct JobProgress {
  InboxJob job;
  std::vector<std::string> due{};  // destinations for which something waits now
  bool elsewhere = false;          // another process moves it on, and this call did nothing
};

class InboxJobs {
 public:
  static constexpr std::size_t kept_max = 1'000;   // jobs; the oldest that have ended go first
  static constexpr Millis plan_kept_for{900'000};  // then a plan cannot be started any more

  virtual ~InboxJobs() = default;

  // Keeps a plan: scope, rate, token and count are given; the number is chosen here.
  virtual Async<InboxJob> plan(InboxJob job) = 0;
  // Code::invalid: there is no plan with this token, or its count is another. A job that was started by this token
  // already is returned as it is.
  virtual Async<InboxJob> start(JobStart start) = 0;
  // Code::invalid: there is no such job. Code::fenced: it has ended.
  virtual Async<InboxJob> cancel(std::uint64_t number) = 0;
  // Oldest first, plans included.
  virtual Async<std::vector<InboxJob>> jobs() = 0;
  // The next part of a job that runs. Nothing is done to one that does not. One caller at a time; of several processes,
  // one moves a job on as long as it lives.
  virtual Async<JobProgress> advance(JobTurn turn) = 0;
};

}  // namespace semel::store
