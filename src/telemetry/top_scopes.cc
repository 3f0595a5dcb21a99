#include "telemetry/top_scopes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "telemetry/tally.h"

namespace semel::telemetry {

TopScopes::Entry& TopScopes::place_of(std::uint64_t scope, std::uint64_t weight) {
  for (std::uint16_t at = heads_[head_of(scope)]; at != 0; at = entries_[at - 1U].next) {
    Entry& entry = entries_[at - 1U];
    if (entry.scope != scope) continue;
    entry.weight += weight;
    return entry;
  }
  std::size_t place = entries_.size();
  std::uint64_t inherited = 0;
  if (entries_.size() < places) {
    entries_.emplace_back();
  } else {
    place = take_lowest();
    inherited = entries_[place].weight;
  }
  Entry& entry = entries_[place];
  std::uint16_t& head = heads_[head_of(scope)];
  entry = {.scope = scope, .weight = inherited + weight, .counts = {}, .next = head};
  head = static_cast<std::uint16_t>(place + 1);
  return entry;
}

// Takes the scope with the lowest weight out of its chain.
std::size_t TopScopes::take_lowest() {
  std::size_t looked = 0;
  while (entries_[hand_].weight != lowest_) {
    hand_ = (hand_ + 1) % places;
    if (++looked < places) continue;
    lowest_ = std::ranges::min_element(entries_, {}, &Entry::weight)->weight;
    looked = 0;
  }
  const Entry& entry = entries_[hand_];
  std::uint16_t* link = &heads_[head_of(entry.scope)];
  while (*link != hand_ + 1) link = &entries_[*link - 1U].next;
  *link = entry.next;
  return hand_;
}

void TopScopes::merge(const TopScopes& other) {
  for (const Entry& each : other.entries_) {
    Entry& entry = place_of(each.scope, each.weight);
    for (std::size_t i = 0; i < tally_outcomes; ++i) entry.counts[i] += each.counts[i];
  }
}

void TopScopes::clear() {
  entries_.clear();
  heads_.fill(0);
  lowest_ = 0;
  hand_ = 0;
}

}  // namespace semel::telemetry
