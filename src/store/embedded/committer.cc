// One thread, one queue. The mutex guards the queue only; it is never held while a batch is judged or written.
#include "store/embedded/committer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>

#include "store/call.h"
#include "store/embedded/batch.h"
#include "store/embedded/ledger.h"
#include "store/embedded/recent_writes.h"
#include "store/embedded/store_clock.h"
#include "store/short_turns.h"
#include "store/waiting.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {
namespace {

constexpr std::size_t calls_max = 1024;  // of a batch that goes on taking more; bounds how long the first one waits

}  // namespace

Committer::Committer(Ledger& ledger, RecentWrites& recent, const StoreClock& clock, InboxPart* inbox)
    : ledger_(ledger), recent_(recent), clock_(clock), inbox_(inbox), thread_([this] { serve(); }) {}

Committer::~Committer() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Task<void> Committer::submit(StoreCall& call, std::optional<std::uint64_t> absent_at) {
  auto start = [this, &call, absent_at](AnswerHandler handler) {
    boost::asio::executor_work_guard<Executor> work(boost::asio::get_associated_executor(handler));
    bool wanted = false;
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back(
          {.waiting = {.call = &call, .resume = std::move(handler), .work = std::move(work)}, .absent_at = absent_at});
      wanted = std::exchange(idle_, false);
    }
    if (wanted) wake_.notify_one();
  };
  return boost::asio::async_initiate<const AnswerToken&, void()>(std::move(start), AnswerToken{});
}

void Committer::serve() {
  ask_for_short_turns();
  std::vector<Pending> calls;
  while (wait(calls)) {
    commit(calls);
    std::this_thread::yield();  // callers that were just woken often have their next call ready: let them bring it
  }
  const Error closed{.code = Code::unavailable, .detail = "the store was closed before the call was judged"};
  for (const Pending& pending : calls) refuse(*pending.waiting.call, closed);
  wake(calls);
}

// False if the store is being closed; then `calls` will not be judged.
bool Committer::wait(std::vector<Pending>& calls) {
  calls.clear();
  std::unique_lock lock(mutex_);
  idle_ = waiting_.empty();
  wake_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
  std::swap(calls, waiting_);
  return !closing_;
}

bool Committer::take_more(std::vector<Pending>& calls) {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty()) return false;
  std::ranges::move(waiting_, std::back_inserter(calls));
  waiting_.clear();
  return true;
}

// Calls that arrive while the first ones are being judged still go with them. Nothing is waited for.
void Committer::commit(std::vector<Pending>& calls) {
  Batch batch(ledger_, &recent_, inbox_);
  std::size_t judged = 0;
  do {
    const Time now = clock_.now();
    for (; judged < calls.size(); ++judged) {
      const Pending& pending = calls[judged];
      batch.judge({.call = pending.waiting.call, .absent_at = pending.absent_at}, now);
    }
  } while (judged < calls_max && take_more(calls));
  batch.commit();
  wake(calls);
}

void Committer::wake(std::vector<Pending>& calls) {
  Wakes wakes;
  for (Pending& pending : calls) wakes.add(std::move(pending.waiting));
  calls.clear();
  wakes.post();
}

}  // namespace semel::store::embedded
