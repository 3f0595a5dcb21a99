// Bulk work on the inbox of a PostgreSQL store (schema_4_job*.cc). A step is one statement, which searches, changes the
// deliveries and moves the job on.
//
// Of several gateways one moves a job on: the holder whose number is in its row, as long as that lives. Another that
// asks for a step is told so, and takes the job over when the first is dead.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "store/inbox_jobs.h"
#include "store/postgres/inbox.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::store::postgres {

class PostgresJobs : public InboxJobs {
 public:
  // `inbox` outlives it.
  explicit PostgresJobs(PostgresInbox& inbox) : inbox_(inbox) {}

  Async<InboxJob> plan(InboxJob job) override;
  Async<InboxJob> start(JobStart start) override;
  Async<InboxJob> cancel(std::uint64_t number) override;
  Async<std::vector<InboxJob>> jobs() override;
  Async<JobProgress> advance(JobTurn turn) override;

  // Of several databases (sharded_jobs.h), the first chooses the number, which is at least `lowest`. The others keep
  // the plan under the number that it has, and forget plans that are not among `known`; they start it at any age.
  Async<InboxJob> plan_first(InboxJob job, std::uint64_t lowest);
  Async<InboxJob> plan_after(InboxJob job, std::vector<std::uint64_t> known);
  Async<InboxJob> start_after(JobStart start);

 private:
  struct Numbering {
    std::uint64_t lowest = 1;
    std::optional<std::vector<std::uint64_t>> known{};  // none: the number is chosen there
  };
  Async<InboxJob> keep(InboxJob job, Numbering numbering);
  Async<InboxJob> begin(JobStart start, Millis age_max);

  PostgresInbox& inbox_;
};

}  // namespace semel::store::postgres
