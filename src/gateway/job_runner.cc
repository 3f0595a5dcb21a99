// One turn after the other, job by job; what waits for time or room is come back to.
#include "gateway/job_runner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/token_bucket.h"
#include "reading/units.h"
#include "runtime/pause.h"
#include "store/inbox_jobs.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::gateway {
namespace {

constexpr std::size_t turn_max = 256;  // deliveries of one durable step
constexpr Millis look_every{1'000};
constexpr Millis at_once{1};
constexpr Millis behind_wait{20};     // for deliveries that are under way
constexpr Millis again_after{1'000};  // a store that does not work, or a body that is in use
constexpr Millis smooth_over{100};    // a rate is kept over so long

std::uint64_t room_of(const store::InboxJob& job) {
  const std::uint64_t open = store::open_of(job);
  return open >= JobRunner::ahead_max ? 0 : JobRunner::ahead_max - open;
}

// The rate of a job in small portions: it begins without a burst, and never takes a second's worth at once.
reading::Rate smoothed(const store::InboxJob& job) {
  const std::uint64_t count = std::max(job.rate, 1U);
  const auto per = static_cast<std::uint64_t>(job.rate_per.count());
  const std::uint64_t portion =
      std::max<std::uint64_t>(1, count * static_cast<std::uint64_t>(smooth_over.count()) / per);
  const std::uint64_t time = (per * portion + count - 1) / count;
  return {.count = static_cast<std::uint32_t>(portion), .per = Millis{static_cast<Millis::rep>(time)}};
}

}  // namespace

JobRunner::JobRunner(store::InboxJobs& jobs, Clock& clock, Surroundings around)
    : jobs_(jobs), clock_(clock), around_(std::move(around)) {}

Task<void> JobRunner::run() {
  while (!draining_) {
    const std::shared_ptr<runtime::Pause> pause = pause_ = std::make_shared<runtime::Pause>(clock_);
    co_await refresh();
    Millis nap = look_every;
    for (std::size_t i = 0; i < running_.size() && !draining_; ++i) {
      const Millis wait = co_await advance(&running_[i]);
      nap = std::min(nap, wait);
    }
    if (!draining_) co_await pause->wait(nap);
  }
}

Task<void> JobRunner::refresh() {
  const Time now = clock_.now();
  if (!around_.needed()) co_return;
  if (!changed_ && now < refreshed_ + look_every) co_return;
  changed_ = false;
  refreshed_ = now;
  const Result<std::vector<store::InboxJob>> all = co_await jobs_.jobs();
  if (!all) co_return;
  running_.clear();
  for (const store::InboxJob& job : *all) {
    if (job.state == store::JobState::running) running_.push_back(job);
  }
  const auto ended = [&](const auto& bucket) {
    return std::ranges::find(running_, bucket.first, &store::InboxJob::number) == running_.end();
  };
  std::erase_if(buckets_, ended);
}

Task<Millis> JobRunner::advance(store::InboxJob* job) {
  if (job->state != store::JobState::running) co_return look_every;
  const bool limited = job->rate > 0;
  const reading::Rate rate = smoothed(*job);
  policy::TokenBucket& bucket = buckets_[job->number];
  const std::optional<Millis> wait = limited ? bucket.take(rate, clock_.now(), 0) : std::nullopt;
  if (wait) co_return *wait;
  store::JobTurn turn{.number = job->number, .limit = turn_max, .retain_ended = around_.retain_ended()};
  turn.limit = std::min<std::size_t>(turn.limit, room_of(*job));
  if (limited) turn.limit = std::min<std::size_t>(turn.limit, rate.count);
  if (turn.limit == 0) {
    changed_ = true;  // how many are under way is in its record
    co_return behind_wait;
  }
  const std::uint64_t taken = job->taken;
  Result<store::JobProgress> progress = co_await jobs_.advance(turn);
  if (!progress) co_return again_after;
  if (progress->elsewhere) {
    *job = std::move(progress->job);
    co_return again_after;
  }
  const bool stood = progress->job.searched == job->searched && progress->job.state == store::JobState::running;
  *job = std::move(progress->job);
  for (const std::string& to : progress->due) around_.expect(to);
  if (limited && job->taken > taken) {
    static_cast<void>(bucket.take(rate, clock_.now(), static_cast<double>(job->taken - taken)));
  }
  co_return stood ? again_after : at_once;
}

void JobRunner::drain() {
  draining_ = true;
  if (pause_ != nullptr) pause_->ring();
}

void JobRunner::look() {
  changed_ = true;
  if (pause_ != nullptr) pause_->ring();
}

}  // namespace semel::gateway
