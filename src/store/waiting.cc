#include "store/waiting.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include <semel/async.h>

namespace semel::store {

// The callers on one executor, woken by one post. If it is destroyed before it has run, because its io_context is going
// away, the handlers destroy their coroutines.
class Wakes::Wake {
 public:
  explicit Wake(Executor executor) : executor_(std::move(executor)) {}

  void add(Waiting waiting) { callers_.push_back(std::move(waiting)); }
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
    for (Waiting& caller : callers_) std::move(caller.resume)();
  }

 private:
  Executor executor_;
  std::vector<Waiting> callers_;
  std::shared_ptr<std::atomic<bool>> posted_ = std::make_shared<std::atomic<bool>>(false);
};

Wakes::Wakes() = default;
Wakes::~Wakes() = default;

void Wakes::add(Waiting waiting) {
  const Executor executor = waiting.work.get_executor();
  auto found = std::ranges::find(wakes_, executor, &Wake::executor);
  if (found == wakes_.end()) found = wakes_.insert(found, Wake(executor));
  found->add(std::move(waiting));
}

void Wakes::post() {
  for (Wake& each : wakes_) Wake::post(std::move(each));
  wakes_.clear();
}

}  // namespace semel::store
