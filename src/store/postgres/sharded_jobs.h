// The bulk work of several databases as one. A job has a row in each of them, under one number and one token; its first
// row decides.
//
//   plan     the first chooses the number, the others follow
//   start    only the first: a job is started, or it is not
//   advance  the others are started by the first step, and moved on before the first, which is done when all are
//   cancel   the first, and then the others
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "store/inbox_jobs.h"
#include "store/postgres/jobs.h"
#include <semel/async.h>

namespace semel::store::postgres {

class ShardedJobs : public InboxJobs {
 public:
  // In an order that is the same on every gateway. There is at least one, and all outlive this.
  explicit ShardedJobs(std::vector<PostgresJobs*> parts) : parts_(std::move(parts)) {}

  Async<InboxJob> plan(InboxJob job) override;
  Async<InboxJob> start(JobStart start) override;
  Async<InboxJob> cancel(std::uint64_t number) override;
  Async<std::vector<InboxJob>> jobs() override;
  Async<JobProgress> advance(JobTurn turn) override;

 private:
  Async<std::vector<InboxJob>> rows_of(std::uint64_t number);

  const std::vector<PostgresJobs*> parts_;
};

}  // namespace semel::store::postgres
