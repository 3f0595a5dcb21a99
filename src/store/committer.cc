// One thread, one queue. The mutex guards the queue only; it is never held while a batch is judged or written.
#include "store/committer.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <expected>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>

#include "store/batch.h"
#include "store/ledger.h"
#include "store/recent_writes.h"
#include "store/store_clock.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel {
namespace {

constexpr std::size_t calls_max = 1024;  // of a batch that goes on taking more; bounds how long the first one waits

// The callers on one executor, woken by one post. If it is destroyed unrun (its io_context is going away), the handlers
// take their coroutines with them.
class Wake {
 public:
  explicit Wake(Executor executor) : executor_(std::move(executor)) {}

  void add(Committer::Waiting waiting) { callers_.push_back(std::move(waiting)); }
  [[nodiscard]] const Executor& executor() const { return executor_; }

  // A caller may destroy its io_context as soon as it has its answer, so this thread must be done with post() first.
  static void post(Wake wake) {
    const Executor executor = wake.executor_;
    const std::shared_ptr<std::atomic<bool>> posted = wake.posted_;
    boost::asio::post(executor, std::move(wake));
    posted->store(true);
    posted->notify_one();
  }

  void operator()() {
    posted_->wait(false);
    for (Committer::Waiting& caller : callers_) std::move(caller.resume)();
  }

 private:
  Executor executor_;
  std::vector<Committer::Waiting> callers_;
  std::shared_ptr<std::atomic<bool>> posted_ = std::make_shared<std::atomic<bool>>(false);
};

// One post per io_context: its thread is interrupted once per batch, not once per call.
void wake(std::vector<Committer::Waiting>& batch) {
  std::vector<Wake> wakes;
  for (Committer::Waiting& waiting : batch) {
    const Executor executor = waiting.work.get_executor();
    auto found = std::ranges::find(wakes, executor, &Wake::executor);
    if (found == wakes.end()) found = wakes.insert(found, Wake(executor));
    found->add(std::move(waiting));
  }
  batch.clear();
  for (Wake& each : wakes) Wake::post(std::move(each));
}

}  // namespace

Committer::Committer(Ledger& ledger, RecentWrites& recent, const StoreClock& clock)
    : ledger_(ledger), recent_(recent), clock_(clock), thread_([this] { serve(); }) {}

Committer::~Committer() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Task<void> Committer::submit(Call& call) {
  auto start = [this, &call](Handler handler) {
    boost::asio::executor_work_guard<Executor> work(boost::asio::get_associated_executor(handler));
    bool wanted = false;
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back({.call = &call, .resume = std::move(handler), .work = std::move(work)});
      wanted = std::exchange(idle_, false);
    }
    if (wanted) wake_.notify_one();
  };
  return boost::asio::async_initiate<const Token&, void()>(std::move(start), Token{});
}

void Committer::serve() {
  std::vector<Waiting> calls;
  while (wait(calls)) {
    commit(calls);
    std::this_thread::yield();  // those just woken often have their next call ready: let them bring it
  }
  const Error closed{.code = Code::unavailable, .detail = "the store was closed before the call was judged"};
  for (const Waiting& waiting : calls) {
    std::visit([&](auto& request) { request.answer = std::unexpected(closed); }, waiting.call->request);
  }
  wake(calls);
}

// False when the store is being closed: then `calls` are those that nobody will judge.
bool Committer::wait(std::vector<Waiting>& calls) {
  calls.clear();
  std::unique_lock lock(mutex_);
  idle_ = waiting_.empty();
  wake_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
  std::swap(calls, waiting_);
  return !closing_;
}

bool Committer::take_more(std::vector<Waiting>& calls) {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty()) return false;
  std::ranges::move(waiting_, std::back_inserter(calls));
  waiting_.clear();
  return true;
}

// What arrives while the first calls are being judged still goes with them. Nothing is waited for.
void Committer::commit(std::vector<Waiting>& calls) {
  Batch batch(ledger_, &recent_);
  std::size_t judged = 0;
  do {
    const Time now = clock_.now();
    for (; judged < calls.size(); ++judged) batch.judge(*calls[judged].call, now);
  } while (judged < calls_max && take_more(calls));
  batch.commit();
  wake(calls);
}

}  // namespace semel
