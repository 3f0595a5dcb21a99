// One thread, one queue. The mutex guards the queue only; it is never held while a batch is judged or written.
#include "store/committer.h"

#include <algorithm>
#include <cstddef>
#include <expected>
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
#include "store/store_clock.h"
#include <semel/async.h>
#include <semel/result.h>

namespace semel {
namespace {

// The callers on one executor, woken by one post. If it is destroyed unrun (its io_context is going away), the handlers
// take their coroutines with them.
class Wake {
 public:
  explicit Wake(Executor executor) : executor_(std::move(executor)) {}

  void add(Committer::Handler handler) { handlers_.push_back(std::move(handler)); }
  [[nodiscard]] const Executor& executor() const { return executor_; }

  void operator()() {
    while (next_ < handlers_.size()) {
      Committer::Handler handler = std::move(handlers_[next_++]);
      try {
        std::move(handler)();
      } catch (...) {
        // The caller's own exception goes to whoever runs the io_context; the others are woken all the same.
        const Executor executor = executor_;
        boost::asio::post(executor, std::move(*this));
        throw;
      }
    }
  }

 private:
  Executor executor_;
  std::vector<Committer::Handler> handlers_;
  std::size_t next_ = 0;
};

// One post per io_context: its thread is interrupted once per batch, not once per call.
void wake(std::vector<Committer::Waiting>& batch) {
  std::vector<Wake> wakes;
  for (Committer::Waiting& waiting : batch) {
    const Executor executor = waiting.work.get_executor();
    auto found = std::ranges::find(wakes, executor, &Wake::executor);
    if (found == wakes.end()) found = wakes.insert(found, Wake(executor));
    found->add(std::move(waiting.resume));
  }
  for (Wake& each : wakes) {
    const Executor executor = each.executor();
    boost::asio::post(executor, std::move(each));
  }
}

}  // namespace

Committer::Committer(Ledger& ledger, const StoreClock& clock)
    : ledger_(ledger), clock_(clock), thread_([this] { serve(); }) {}

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
  std::vector<Waiting> batch;
  while (take(batch)) commit(batch);
  const Error closed{.code = Code::unavailable, .detail = "the store was closed before the call was judged"};
  for (const Waiting& waiting : batch) {
    std::visit([&](auto& request) { request.answer = std::unexpected(closed); }, waiting.call->request);
  }
  wake(batch);
}

// False when the store is being closed: then `batch` is what nobody will judge.
bool Committer::take(std::vector<Waiting>& batch) {
  batch.clear();
  std::unique_lock lock(mutex_);
  idle_ = waiting_.empty();
  wake_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
  std::swap(batch, waiting_);
  return !closing_;
}

void Committer::commit(std::vector<Waiting>& batch) {
  std::vector<Call*> calls;
  calls.reserve(batch.size());
  for (const Waiting& waiting : batch) calls.push_back(waiting.call);
  run_batch(calls, ledger_, clock_.now(), [&] { wake(batch); });
}

}  // namespace semel
