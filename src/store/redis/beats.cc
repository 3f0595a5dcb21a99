#include "store/redis/beats.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "store/redis/options.h"
#include <semel/clock.h>

namespace semel::store::redis {
namespace {

// Remembered per connection. What is lost was acknowledged seconds ago, or minutes on a server that was cut off.
constexpr std::size_t told_max = 200'000;
constexpr Millis told_age_max{3'600'000};

}  // namespace

BeatBook::Next BeatBook::next(std::size_t slot) {
  const std::scoped_lock lock(mutex_);
  Slot& each = slots_[slot];
  const Next next{.number = ++each.sent, .before = each.before};
  each.before = next.number;
  return next;
}

void BeatBook::acknowledge(std::size_t slot, std::uint64_t number, std::size_t calls, Time at) {
  const std::scoped_lock lock(mutex_);
  Slot& each = slots_[slot];
  each.acknowledged = number;
  if (calls == 0) return;
  each.told.push_back({.number = number, .calls = calls, .at = at});
  while (each.told.size() > told_max || each.told.front().at + told_age_max < at) {
    each.forgotten = each.told.front().at;
    each.told.pop_front();
  }
}

std::uint64_t BeatBook::acknowledged(std::size_t slot) {
  const std::scoped_lock lock(mutex_);
  return slots_[slot].acknowledged;
}

void BeatBook::find(std::size_t slot, std::uint64_t found) {
  const std::scoped_lock lock(mutex_);
  slots_[slot].overwritten = found;
}

std::optional<RedisLoss> BeatBook::resume(std::size_t slot, std::uint64_t found, Time now) {
  const std::scoped_lock lock(mutex_);
  Slot& each = slots_[slot];
  each.before = found;
  found = std::min(found, std::exchange(each.overwritten, std::nullopt).value_or(found));
  if (found >= each.acknowledged) return std::nullopt;
  RedisLoss loss{.calls = 0, .more = each.told.empty() || each.told.front().number > found + 1, .since = now};
  loss.more = loss.more && each.forgotten != Time{};
  while (!each.told.empty() && each.told.back().number > found) {
    loss.calls += each.told.back().calls;
    loss.since = each.told.back().at;
    each.told.pop_back();
  }
  each.acknowledged = found;
  if (loss.calls == 0 && !loss.more) return std::nullopt;
  return loss;
}

}  // namespace semel::store::redis
