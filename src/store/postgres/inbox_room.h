// Roughly how much an inbox holds: enough to know that there is room without asking, and when to ask.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "store/inbox.h"
#include "store/inbox_desk.h"

namespace semel::store::postgres {

class InboxRoom {
 public:
  // As the figures say. What comes afterwards is added; what ends is seen with the next figures.
  void set(const std::vector<DeliveryTally>& tallies);
  void add(const AcceptOrder& order);
  // Whether it may be half full.
  [[nodiscard]] bool is_short_for(const AcceptOrder& order);

 private:
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> depths_;  // by source
  std::uint64_t bytes_ = 0;
};

}  // namespace semel::store::postgres
