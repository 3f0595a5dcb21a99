#include "once/waiters.h"

#include <memory>
#include <mutex>
#include <utility>

#include <boost/asio/post.hpp>

#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/key.h>

namespace semel::once {

Waiters::Place::Place(Waiters& waiters, Key key, Executor executor)
    : waiters_(waiters), key_(std::move(key)), pause_(std::make_shared<runtime::Pause>(waiters_.clock_)) {
  const std::scoped_lock lock(waiters_.mutex_);
  waiters_.sleepers_.emplace(key_, Sleeper{.executor = std::move(executor), .pause = pause_});
}

Waiters::Place::~Place() {
  const std::scoped_lock lock(waiters_.mutex_);
  const auto [first, last] = waiters_.sleepers_.equal_range(key_);
  for (auto it = first; it != last; ++it) {
    if (it->second.pause != pause_) continue;
    waiters_.sleepers_.erase(it);
    break;
  }
  --waiters_.count_;
}

std::unique_ptr<Waiters::Place> Waiters::enter(Key key, Executor executor) {
  if (++count_ > limit_) {
    --count_;
    return nullptr;
  }
  return std::make_unique<Place>(*this, std::move(key), std::move(executor));
}

void Waiters::wake(const Key& key) {
  // A waiter counts itself before it looks at the key, and waiters are woken after the key's end is durable: one that
  // is not counted yet will see the end itself.
  if (count_.load() == 0) return;
  const std::scoped_lock lock(mutex_);
  const auto [first, last] = sleepers_.equal_range(key);
  for (auto it = first; it != last; ++it) {
    boost::asio::post(it->second.executor, [pause = it->second.pause] { pause->ring(); });
  }
  sleepers_.erase(first, last);
}

}  // namespace semel::once
