// Moves the jobs of an inbox on: a few deliveries at a time, at the rate of each, and never far ahead of what the
// destinations take.
//
// A job that sends deliveries waits while `ahead_max` of them have not ended. So a destination that stands still holds
// its job up, a job can be cancelled before all is on its way, and depth_max is left to new events. Everything here
// runs on the thread of run().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policy/token_bucket.h"
#include "runtime/pause.h"
#include "store/inbox_jobs.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {

class JobRunner {
 public:
  static constexpr std::uint64_t ahead_max = 4'000;

  struct Surroundings {
    std::function<void(const std::string& to)> expect;  // something is due for this destination
    std::function<Millis()> retain_ended;               // of deliveries that a job ends
    std::function<bool()> needed;                       // false: there is no inbox, and nobody has to look for jobs
  };

  // `jobs` and `clock` outlive it.
  JobRunner(store::InboxJobs& jobs, Clock& clock, Surroundings around);

  // Until drain().
  Task<void> run();
  void drain();
  // A job was started or cancelled. On the thread of run().
  void look();

  [[nodiscard]] store::InboxJobs& jobs() { return jobs_; }

 private:
  Task<void> refresh();
  // Returns when it makes sense to go on with this job.
  Task<Millis> advance(store::InboxJob* job);

  store::InboxJobs& jobs_;
  Clock& clock_;
  const Surroundings around_;
  std::vector<store::InboxJob> running_;
  std::map<std::uint64_t, policy::TokenBucket> buckets_;
  std::shared_ptr<runtime::Pause> pause_;
  Time refreshed_{};
  bool changed_ = true;
  bool draining_ = false;
};

}  // namespace semel::gateway
