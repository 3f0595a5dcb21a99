// The claims that run, oldest first, in memory: a claim that ends soon never costs the index of unsettled keys a write.
//
// Claims come in the order of time, so each goes in at the end. Not for several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <list>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "store/cursor.h"
#include <semel/key.h>

namespace semel::store::embedded {

class RunningClaims {
 public:
  void add(const ListPlace& claim) {
    if (places_.contains(claim.id)) return;
    auto behind = order_.end();
    while (behind != order_.begin() && claim < *std::prev(behind)) --behind;
    if (spare_.empty()) {
      places_.emplace(claim.id, order_.insert(behind, claim));
      return;
    }
    const auto node = spare_.begin();
    *node = claim;
    order_.splice(behind, spare_, node);
    places_.emplace(claim.id, node);
  }

  // Nothing happens if there is no such claim.
  void remove(const ListPlace& claim) {
    const auto found = places_.find(claim.id);
    if (found == places_.end() || *found->second != claim) return;
    if (spare_.size() < spare_max) {
      spare_.splice(spare_.begin(), order_, found->second);
    } else {
      order_.erase(found->second);
    }
    places_.erase(found);
  }

  [[nodiscard]] bool has(const ListPlace& claim) const {
    const auto found = places_.find(claim.id);
    return found != places_.end() && *found->second == claim;
  }

  // The oldest `limit` of those behind `after`, in order.
  [[nodiscard]] std::vector<ListPlace> behind(const ListPlace& after, std::size_t limit) const {
    std::vector<ListPlace> found;
    auto at = std::ranges::find_if(order_, [&](const ListPlace& claim) { return after < claim; });
    for (; at != order_.end() && found.size() < limit; ++at) found.push_back(*at);
    return found;
  }

 private:
  static constexpr std::size_t spare_max = 1'024;

  struct FirstBytes {  // ids are cryptographic hashes: any of their bytes will do
    using is_avalanching = void;
    std::size_t operator()(const Digest& id) const {
      std::size_t first = 0;
      std::memcpy(&first, id.data(), sizeof(first));
      return first;
    }
  };

  std::list<ListPlace> order_;
  std::list<ListPlace> spare_;  // nodes to be used again
  boost::unordered_flat_map<Digest, std::list<ListPlace>::iterator, FirstBytes> places_;
};

}  // namespace semel::store::embedded
