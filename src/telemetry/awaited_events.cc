#include "telemetry/awaited_events.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <mutex>

#include <semel/clock.h>
#include <semel/key.h>

namespace semel::telemetry {

// A key is a cryptographic hash already: any eight bytes of it will do.
std::size_t AwaitedEvents::KeyHash::operator()(const Digest& key) const {
  std::size_t first = 0;
  std::memcpy(&first, key.data(), sizeof(first));
  return first;
}

void AwaitedEvents::add(const Digest& key, Time now) {
  const std::scoped_lock lock(mutex_);
  auto found = events_.find(key);
  if (found == events_.end()) {
    if (events_.size() == places) forget_old(now);
    if (events_.size() == places) {
      partial_ = true;
      return;
    }
    found = events_.emplace(key, Awaited{.key = key, .since = now}).first;
    size_.store(events_.size(), std::memory_order_relaxed);
  }
  found->second.last = now;
  ++found->second.times;
}

void AwaitedEvents::forget(const Digest& key) {
  if (size_.load(std::memory_order_relaxed) == 0) return;
  const std::scoped_lock lock(mutex_);
  events_.erase(key);
  if (events_.empty()) partial_ = false;
  size_.store(events_.size(), std::memory_order_relaxed);
}

void AwaitedEvents::forget_old(Time now) {
  for (auto each = events_.begin(); each != events_.end();) {
    each = each->second.since + kept_for <= now ? events_.erase(each) : std::next(each);
  }
  size_.store(events_.size(), std::memory_order_relaxed);
}

AwaitedEvents::View AwaitedEvents::view(Time now) {
  View view;
  {
    const std::scoped_lock lock(mutex_);
    forget_old(now);
    for (const auto& [key, event] : events_) view.events.push_back(event);
    view.partial = partial_;
  }
  std::ranges::sort(view.events, {}, &Awaited::since);
  return view;
}

}  // namespace semel::telemetry
