// The judge is judged: each fault that a store could have must be found in a history that has it.

#include "store/key_history.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace semel::test {
namespace {

constexpr Fence first{.number = 1, .owner = 11};
constexpr Fence second{.number = 2, .owner = 22};

// Events one after another, in the order in which they are written down.
std::vector<Event> in_order(std::vector<Event> events) {
  std::uint64_t tick = 0;
  for (Event& event : events) {
    event.begun = ++tick;
    event.ended = ++tick;
  }
  return events;
}

// All of them at the same time.
std::vector<Event> overlapping(std::vector<Event> events) {
  std::uint64_t tick = 0;
  for (Event& event : events) event.begun = ++tick;
  for (Event& event : events) event.ended = ++tick;
  return events;
}

Event event(Deed deed, Reply reply, Fence fence, std::uint64_t tag = 0) {
  return {.deed = deed, .begun = 0, .ended = 0, .reply = reply, .fence = fence, .tag = tag};
}

bool found(const std::vector<Event>& history, const std::string& what) {
  const std::vector<std::string> all = faults(history);
  return std::ranges::any_of(all, [&](const std::string& fault) { return fault.find(what) != std::string::npos; });
}

using enum Deed;
using enum Reply;

// A history as a faithful store makes it is not objected to.
TEST(History, AcceptsWhatAFaithfulStoreDoes) {
  EXPECT_EQ(faults(in_order({event(claim, granted, first), event(claim, held_running, first), event(renew, ok, first),
                             event(Deed::release, ok, first), event(Deed::release, ok, first),
                             event(claim, granted, second), event(Deed::release, fenced, first),
                             event(complete, ok, second, 5), event(complete, ok, second, 6),
                             event(claim_over, held_done, second, 5), event(renew, fenced, second)})),
            std::vector<std::string>{});
  EXPECT_EQ(faults(in_order({event(claim, granted, first), event(complete_unknown, ok, first),
                             event(claim, held_unknown, first), event(claim_over, granted, second)})),
            std::vector<std::string>{});
}

// Calls that overlap may have happened in either order, so neither of two readings is a fault.
TEST(History, AllowsEitherOrderOfOverlappingCalls) {
  EXPECT_EQ(faults(overlapping({event(claim, granted, first), event(claim, held_running, first),
                                event(complete, ok, first, 1), event(claim, held_done, first, 1),
                                event(renew, fenced, first)})),
            std::vector<std::string>{});
  EXPECT_EQ(faults(overlapping({event(claim, granted, second), event(Deed::release, ok, first),
                                event(claim, granted, first), event(renew, ok, first)})),
            std::vector<std::string>{});
}

// Each row is a history with one fault, and the words in which it must be found.
TEST(History, FindsEachFault) {
  const std::vector<std::pair<std::string, std::vector<Event>>> rows{
      {"granted twice", {event(claim, granted, first), event(claim, granted, first)}},
      {"granted twice", {event(claim, granted, first), event(claim, granted, {.number = 1, .owner = 12})}},
      {"granted while the one before was running", {event(claim, granted, first), event(claim, granted, second)}},
      {"granted while the one before was running",
       {event(claim, granted, first), event(claim, granted, second), event(Deed::release, ok, first)}},
      {"never granted", {event(claim, granted, second)}},
      {"granted after a completion",
       {event(claim, granted, first), event(complete, ok, first, 1), event(claim_over, granted, second)}},
      {"granted over an unknown outcome",
       {event(claim, granted, first), event(complete_unknown, ok, first), event(claim, granted, second)}},
      {"ended in two ways",
       {event(claim, granted, first), event(complete, ok, first, 1), event(Deed::release, ok, first)}},
      {"ended with a fence that was never granted",
       {event(claim, granted, first), event(complete, ok, {.number = 1, .owner = 12}, 1)}},
      {"told as the holder, but never granted", {event(claim, held_running, first)}},
      {"told as the holder before it was claimed", {event(claim, held_running, first), event(claim, granted, first)}},
      {"told as running after it had ended",
       {event(claim, granted, first), event(complete, ok, first, 1), event(claim, held_running, first)}},
      {"told an end that it did not have", {event(claim, granted, first), event(claim, held_done, first, 1)}},
      {"told an end that it did not have",
       {event(claim, granted, first), event(complete, ok, first, 1), event(claim, held_unknown, first)}},
      {"a response that nobody gave",
       {event(claim, granted, first), event(complete, ok, first, 1), event(claim, held_done, first, 2)}},
      {"two responses for one attempt",
       {event(claim, granted, first), event(complete, ok, first, 1), event(complete, ok, first, 2),
        event(claim, held_done, first, 1), event(claim, held_done, first, 2)}},
      {"an unknown outcome stood against a take-over",
       {event(claim, granted, first), event(complete_unknown, ok, first), event(claim_over, held_unknown, first)}},
      {"told as the holder after it had been taken over",
       {event(claim, granted, first), event(complete_unknown, ok, first), event(claim_over, granted, second),
        event(claim, held_unknown, first)}},
      {"renewed after it had ended",
       {event(claim, granted, first), event(complete, ok, first, 1), event(renew, ok, first)}},
      {"obeyed a fence that was never granted",
       {event(claim, granted, first), event(renew, ok, {.number = 1, .owner = 12})}},
      {"obeyed after the next one was granted",
       {event(claim, granted, first), event(Deed::release, ok, first), event(claim, granted, second),
        event(Deed::release, ok, first)}},
      {"fenced without a reason", {event(claim, granted, first), event(renew, fenced, first)}},
      {"fenced without a reason",
       {event(claim, granted, first), event(complete, fenced, first, 1), event(Deed::release, ok, first)}},
  };
  for (const auto& [what, events] : rows) EXPECT_TRUE(found(in_order(events), what)) << what;
}

}  // namespace
}  // namespace semel::test
