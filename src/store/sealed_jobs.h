// The bulk work of an inbox whose objects are named by the identity of its store (sealed_inbox.h).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/identity.h"
#include "store/inbox_jobs.h"
#include "store/sealed_inbox.h"
#include <semel/async.h>

namespace semel::store {

class SealedJobs : public InboxJobs {
 public:
  // `inner` outlives it.
  SealedJobs(InboxJobs& inner, std::optional<core::KeyNames> names) : inner_(inner), names_(std::move(names)) {}

  Async<InboxJob> plan(InboxJob job) override {
    auto& object = job.scope.filter.object;
    if (object) object = named_object(names_, *object);
    return inner_.plan(std::move(job));
  }
  Async<InboxJob> start(JobStart start) override { return inner_.start(std::move(start)); }
  Async<InboxJob> cancel(std::uint64_t number) override { return inner_.cancel(number); }
  Async<std::vector<InboxJob>> jobs() override { return inner_.jobs(); }
  Async<JobProgress> advance(JobTurn turn) override { return inner_.advance(turn); }

 private:
  InboxJobs& inner_;
  const std::optional<core::KeyNames> names_;
};

}  // namespace semel::store
