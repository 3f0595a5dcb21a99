#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "support/virtual_clock.h"

namespace semel::test {

struct VirtualClock::Pending {
  Executor executor;
  std::function<void()> ring;
  bool silenced = false;  // touched only on the executor's thread
};

class VirtualClock::Handle : public Clock::Alarm {
 public:
  explicit Handle(std::shared_ptr<Pending> pending) : pending_(std::move(pending)) {}
  ~Handle() override { pending_->silenced = true; }

 private:
  std::shared_ptr<Pending> pending_;
};

std::unique_ptr<Clock::Alarm> VirtualClock::after(Executor executor, Millis delay, std::function<void()> ring) {
  auto pending = std::make_shared<Pending>(Pending{.executor = std::move(executor), .ring = std::move(ring)});
  const std::scoped_lock lock(mutex_);
  pending_.emplace(now_.load() + delay, pending);
  return std::make_unique<Handle>(std::move(pending));
}

void VirtualClock::advance(Millis by) {
  std::vector<std::shared_ptr<Pending>> due;
  {
    const std::scoped_lock lock(mutex_);
    now_ = now_.load() + by;
    const auto end = pending_.upper_bound(now_.load());
    for (auto it = pending_.begin(); it != end; ++it) due.push_back(it->second);
    pending_.erase(pending_.begin(), end);
  }
  for (auto& alarm : due) {
    if (alarm->silenced) continue;
    const Executor executor = alarm->executor;
    boost::asio::post(executor, [alarm] {
      if (!alarm->silenced) alarm->ring();
    });
  }
}

bool VirtualClock::advance_to_next_alarm() {
  Millis by{0};
  {
    const std::scoped_lock lock(mutex_);
    while (!pending_.empty() && pending_.begin()->second->silenced) pending_.erase(pending_.begin());
    if (pending_.empty()) return false;
    if (pending_.begin()->first > now_.load()) by = pending_.begin()->first - now_.load();
  }
  advance(by);
  return true;
}

std::size_t VirtualClock::alarms_pending() const {
  const std::scoped_lock lock(mutex_);
  std::size_t count = 0;
  for (const auto& [at, alarm] : pending_) count += alarm->silenced ? 0U : 1U;
  return count;
}

}  // namespace semel::test
