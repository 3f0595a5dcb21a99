#include "gateway/answer_waiters.h"

#include <cstddef>
#include <memory>
#include <mutex>

#include <boost/asio/post.hpp>

#include "core/event_id.h"
#include "runtime/pause.h"
#include <semel/async.h>

namespace semel::gateway {

bool AnswerWaiters::add(const core::EventId& id, const Executor& executor, const std::shared_ptr<runtime::Pause>& pause,
                        std::size_t limit) {
  const std::scoped_lock lock(mutex_);
  if (waiters_.size() >= limit) return false;
  waiters_.emplace(id, Waiter{.executor = executor, .pause = pause});
  return true;
}

void AnswerWaiters::remove(const core::EventId& id, const std::shared_ptr<runtime::Pause>& pause) {
  const std::scoped_lock lock(mutex_);
  const auto [begin, end] = waiters_.equal_range(id);
  for (auto it = begin; it != end; ++it) {
    if (it->second.pause != pause) continue;
    waiters_.erase(it);
    return;
  }
}

void AnswerWaiters::tell(const core::EventId& id) {
  const std::scoped_lock lock(mutex_);
  const auto [begin, end] = waiters_.equal_range(id);
  for (auto it = begin; it != end; ++it) {
    boost::asio::post(it->second.executor, [pause = it->second.pause] { pause->ring(); });
  }
  waiters_.erase(begin, end);
}

}  // namespace semel::gateway
