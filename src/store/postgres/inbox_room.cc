#include "store/postgres/inbox_room.h"

#include <cstdint>
#include <mutex>
#include <vector>

#include "store/inbox.h"
#include "store/inbox_desk.h"

namespace semel::store::postgres {
namespace {

constexpr std::uint64_t depth_margin = 1'000;

}  // namespace

void InboxRoom::set(const std::vector<DeliveryTally>& tallies) {
  const std::scoped_lock lock(mutex_);
  depths_.clear();
  bytes_ = 0;
  for (const DeliveryTally& tally : tallies) {
    depths_[tally.source] += tally.open();
    bytes_ += tally.bytes;
  }
}

void InboxRoom::add(const AcceptOrder& order) {
  const std::scoped_lock lock(mutex_);
  depths_[order.source] += order.to.size();
  bytes_ += order.parcel->body.size();
}

bool InboxRoom::is_short_for(const AcceptOrder& order) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t depth = depths_[order.source] + order.to.size() + depth_margin;
  const std::uint64_t bytes = bytes_ + order.parcel->body.size();
  return depth > order.depth_max / 2 || bytes > order.bytes_max / 2;
}

}  // namespace semel::store::postgres
